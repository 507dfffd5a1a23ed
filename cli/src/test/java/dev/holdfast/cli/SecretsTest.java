package dev.holdfast.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.holdfast.Holdfast;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Whatever is wrong with the URL of a store, what is said of it does not show a password, encoded or not. Here every store of
 * the tool meets every mistake; {@code SecretsInUrlsTest} has passwords made by chance.
 */
class SecretsTest {

    private static final String SECRET = "hunter2";

    /** If they are not encoded, a part of each may be taken for another part of the URL. */
    private static final List<String> PASSWORDS = List.of(
            "",
            "1/",
            "1?",
            "1?a=",
            "1?password=",
            "&",
            "&a=",
            "&nosuch=",
            "@",
            "@b/",
            "@b:1?c=",
            "#",
            ",b:",
            "%",
            " ",
            ";");

    @ParameterizedTest
    @ValueSource(
            strings = {
                "redis://me:PASSWORD@127.0.0.1:1",
                "rediss://:PASSWORD@127.0.0.1:1,127.0.0.2:1",
                "redis-sentinel://me:PASSWORD@127.0.0.1:1/locks",
                "redis-sentinel://127.0.0.1:1/locks?sentinelPassword=PASSWORD",
                "tair://me:PASSWORD@127.0.0.1:1",
                "etcd://me:PASSWORD@127.0.0.1:1",
                "etcds://me:PASSWORD@127.0.0.1:1,127.0.0.2:1",
                "zookeeper://me:PASSWORD@127.0.0.1:1/root",
                "zookeeper://127.0.0.1:1?tls=true&trustStore=nosuch&trustStorePassword=PASSWORD",
                "zookeeper://127.0.0.1:1?tls=true&keyStore=nosuch&keyStorePassword=PASSWORD",
                "memcached://me:PASSWORD@127.0.0.1:1",
                "memcacheds://me:PASSWORD@127.0.0.1:1",
                "jdbc:postgresql://127.0.0.1:1/app?user=me&password=PASSWORD",
                "jdbc:mariadb://127.0.0.1:1/app?user=me&password=PASSWORD",
                "quorum:redis://me:PASSWORD@127.0.0.1:1,redis://127.0.0.2:1,redis://127.0.0.3:1",
                "nosuch://me:PASSWORD@127.0.0.1:1",
            })
    void passwordsAreNotShown(String url) {
        for (String before : PASSWORDS) {
            for (String password : List.of(before + SECRET, encoded(before + SECRET), SECRET + before)) {
                mistakes(url.replace("PASSWORD", password)).forEach(SecretsTest::isRefusedAndNotShown);
            }
        }
    }

    private static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }

    private static Stream<String> mistakes(String url) {
        if (url.startsWith("quorum:")) {
            return Stream.of(
                    url + "#nosuch=1",
                    url + "#maxLease=never",
                    url + ",redis://127.0.0.4:1",
                    url + "?nosuch=1",
                    url + "?timeout=never");
        }
        String next = url.contains("?") ? "&" : "?";
        String prefix = url.startsWith("jdbc:") ? "holdfast." : "";
        return Stream.of(
                url + next + prefix + "nosuch=1",
                url + next + prefix + "nosuch",
                url + next + prefix + "ticketTtl=never&" + prefix + "timeout=never",
                url + next + prefix + "nosuch=%zz");
    }

    private static void isRefusedAndNotShown(String url) {
        Throwable failure = catchThrowable(() -> Holdfast.connect(url).close());
        assertThat(failure).as(url).isNotNull();
        StringWriter trace = new StringWriter();
        failure.printStackTrace(new PrintWriter(trace));
        assertThat(trace.toString()).as(url).doesNotContain(SECRET);
    }
}
