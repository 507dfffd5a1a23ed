package dev.holdfast.buildrules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.holdfast.spi.LockStoreProvider;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.store.Providers;
import dev.holdfast.store.StoreUrl;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** What the providers of stores say of their URLs, and a URL for each place where a password can stand. */
final class StoreUrls {

    /** What stands for the password. */
    static final String PASSWORD = "HERE";

    /** Nobody listens at port 1. */
    private static final List<String> ALL = List.of(
            "redis://me:HERE@127.0.0.1:1?timeout=100ms",
            "redis://:HERE@127.0.0.1:1,127.0.0.2:1/?timeout=100ms&prefix=mine:",
            "rediss://me:HERE@127.0.0.1:1?cluster=true&timeout=100ms",
            "redis-sentinel://me:HERE@127.0.0.1:1/locks?timeout=100ms",
            "redis-sentinel://127.0.0.1:1/locks?timeout=100ms&sentinelUser=me&sentinelPassword=HERE",
            "rediss-sentinel://:other@127.0.0.1:1/locks/2?sentinelPassword=HERE&timeout=100ms",
            "tair://me:HERE@127.0.0.1:1?timeout=100ms",
            "tairs://:HERE@127.0.0.1:1/1?timeout=100ms",
            "redis+lettuce://me:HERE@127.0.0.1:1?timeout=100ms",
            "redis+lettuce://:HERE@127.0.0.1:1,127.0.0.2:1?timeout=100ms",
            "rediss+lettuce://:HERE@127.0.0.1:1?timeout=100ms",
            "redis-sentinel+lettuce://127.0.0.1:1/locks?timeout=100ms&sentinelPassword=HERE",
            "rediss-sentinel+lettuce://me:HERE@127.0.0.1:1/locks?timeout=100ms",
            "etcd://me:HERE@127.0.0.1:1?timeout=100ms",
            "etcds://me:HERE@127.0.0.1:1,127.0.0.2:1?timeout=100ms",
            "zookeeper://me:HERE@127.0.0.1:1/root?timeout=100ms",
            "zookeeper://127.0.0.1:1?timeout=100ms&tls=true&trustStore=nosuch&trustStorePassword=HERE",
            "zookeeper://127.0.0.1:1?timeout=100ms&tls=true&keyStore=nosuch&keyStorePassword=HERE&acl=open",
            "memcached://me:HERE@127.0.0.1:1?timeout=100ms",
            "memcached://me:HERE@127.0.0.1:1?login=sasl&timeout=100ms",
            "memcacheds://me:HERE@127.0.0.1:1?timeout=100ms",
            "jdbc:postgresql://127.0.0.1:1/app?user=me&password=HERE&holdfast.busyTimeout=250ms",
            "jdbc:postgresql://127.0.0.1:1/app?user=me&sslmode=require&sslpassword=HERE&sslkey=nosuch&holdfast.busyTimeout=250ms",
            "jdbc:postgresql://me:HERE@127.0.0.1:1/app?holdfast.busyTimeout=250ms",
            "jdbc:mariadb://127.0.0.1:1/app?user=me&password=HERE&holdfast.busyTimeout=250ms",
            "jdbc:mariadb://127.0.0.1:1/app?sslMode=trust&keyStore=nosuch&keyStorePassword=HERE&holdfast.busyTimeout=250ms",
            "jdbc:mysql://127.0.0.1:1/app?user=me&password=HERE&allowMultiQueries=true&holdfast.busyTimeout=250ms",
            "jdbc:h2:mem:secrets;USER=me;PASSWORD=HERE?holdfast.busyTimeout=250ms",
            "jdbc:h2:tcp://127.0.0.1:1/mem:secrets;PASSWORD=HERE;USER=me?holdfast.busyTimeout=250ms",
            "jdbc:oracle:thin:me/HERE@//127.0.0.1:1/app?holdfast.clock=1&holdfast.busyTimeout=250ms",
            "quorum:redis://me:HERE@127.0.0.1:1?timeout=100ms,redis://127.0.0.2:1?timeout=100ms,"
                    + "redis://127.0.0.3:1?timeout=100ms",
            "quorum:etcd://127.0.0.1:1?timeout=100ms,redis://:HERE@127.0.0.2:1?timeout=100ms,"
                    + "redis-sentinel://127.0.0.3:1/locks?timeout=100ms&sentinelPassword=HERE",
            "nosuch://me:HERE@127.0.0.1:1");

    /** No store takes these, whatever their options are: an unknown scheme, and a login that the driver does not understand. */
    private static final Set<String> NEVER_TAKEN = Set.of("nosuch:", "jdbc:postgresql://me:");

    /** The stores that have no credentials. */
    private static final Set<String> WITHOUT_CREDENTIALS = Set.of("sqlite:", "memory:");

    private static final Pattern SCHEME = Pattern.compile("(jdbc:[^:]+|[^:]+)(://|:)");
    private static final Pattern CHOICE = Pattern.compile("\\[([^]]*)]|\\{([^}]*)}");
    private static final Pattern KNOWN =
            Pattern.compile("(?:there are|options of a quorum are) ([\\w, ]+?)(, but|\\n|$)");

    private StoreUrls() {}

    static List<String> all() {
        return ALL;
    }

    /** The schemes in the form of a provider that are in no URL here. */
    static List<String> missing(LockStoreProvider provider) {
        return Stream.of(provider.form().split(" or "))
                .flatMap(form -> schemes(form).stream())
                .filter(scheme -> !WITHOUT_CREDENTIALS.contains(scheme))
                .filter(scheme -> ALL.stream().noneMatch(url -> url.startsWith(scheme) && provider.accepts(url)))
                .toList();
    }

    /** The schemes that a form names: it may be {@code redis[s]|tair[s]://...} or <code>jdbc:{h2,mysql}:...</code>. */
    static List<String> schemes(String form) {
        Matcher scheme = SCHEME.matcher(form);
        assertThat(scheme.lookingAt()).as(form).isTrue();
        String end = scheme.group(2);
        return Stream.of(scheme.group(1).split("\\|"))
                .flatMap(one -> expanded(one).stream())
                .map(one -> one + end)
                .toList();
    }

    private static List<String> expanded(String scheme) {
        Matcher choice = CHOICE.matcher(scheme);
        if (!choice.find()) {
            return List.of(scheme);
        }
        Stream<String> choices = choice.group(1) != null
                ? Stream.of("", choice.group(1))
                : Stream.of(choice.group(2).split(","));
        return choices.flatMap(one -> expanded(choice.replaceFirst(one)).stream())
                .toList();
    }

    /** Whether a store looks at the options of a URL. */
    static boolean mayBeTaken(String url) {
        return NEVER_TAKEN.stream().noneMatch(url::startsWith);
    }

    /**
     * Whether a part of a password that follows an unencoded {@code @} is the name of a server, by the rules of URLs. Servers are
     * shown, by us and by clients.
     */
    static boolean namesAServer(String url, String text) {
        return Stream.of(url.split("(?=\\b[a-z+-]+://)")).anyMatch(node -> {
            try {
                return StoreUrl.parse(node, "a store", "a URL", 1, StoreUrl::servers).stream()
                        .anyMatch(server -> server.host().contains(text));
            } catch (IllegalArgumentException refused) {
                return false;
            }
        });
    }

    /** The names of the options that the store of a URL has, as its own message says. */
    static List<String> options(String url) {
        String refused = with(url.replace(PASSWORD, "pw"), "nosuch=1");
        Throwable failure = catchThrowable(() -> Providers.open(refused, MonotonicClock.SYSTEM));
        Matcher known = KNOWN.matcher(String.valueOf(failure));
        return known.find()
                ? Stream.of(known.group(1).split(", | and ")).map(String::strip).toList()
                : List.of();
    }

    /** A URL with one more option of ours. */
    static String with(String url, String option) {
        if (url.startsWith("quorum:")) {
            return url + (url.indexOf('#') < 0 ? "#" : "&") + option;
        }
        String prefix = url.startsWith("jdbc:") ? "holdfast." : "";
        return url + (url.indexOf('?') < 0 ? "?" : "&") + prefix + option;
    }
}
