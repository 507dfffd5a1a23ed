package dev.holdfast.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is common to the URLs of all stores on servers. */
class StoreUrlTest {

    private static StoreUrl parse(String url) {
        return StoreUrl.parse(url, "Example", "example://HOST", 7, parsed -> parsed);
    }

    @Test
    void allPartsAreRead() {
        StoreUrl url = parse("a+b-c1://us%3Aer:p%40s:s+w%2Frd@db.example,[::1]:7000,x:1/some/path%20?o=1%26&p=2?3");
        assertThat(url.scheme()).isEqualTo("a+b-c1");
        assertThat(url.user()).isEqualTo("us:er");
        assertThat(url.password()).isEqualTo("p@s:s+w/rd");
        assertThat(url.servers())
                .containsExactly(
                        new ServerAddress("db.example", 7), new ServerAddress("::1", 7000), new ServerAddress("x", 1));
        assertThat(url.servers())
                .extracting(ServerAddress::toString)
                .containsExactly("db.example:7", "[::1]:7000", "x:1");
        assertThat(url.path()).isEqualTo("/some/path%20");
        assertThat(url.query()).isEqualTo("o=1%26&p=2?3");
    }

    @Test
    void neitherLoginNorOptionsAreShown() {
        assertThat(parse("example://user:secret@h,[::1]:8/path?sentinelPassword=hidden"))
                .hasToString("example://h:7,[::1]:8/path");
        assertThat(StoreUrl.withoutPassword("redis://u:sec\nret@h")).isEqualTo("redis://***@h");
    }

    /** Whether the @ ends a login with an unencoded slash cannot be told from the URL alone, so it is not shown. */
    @Test
    void pathsAndOptionsMayHaveAnAt() {
        assertThat(parse("example://h:1/a@b?x=c:d@e").path()).isEqualTo("/a@b");
        assertThat(parse("example://h:1/a@b?x=c:d@e").query()).isEqualTo("x=c:d@e");
        assertThat(parse("example://u:p@h:1/a@b").servers()).containsExactly(new ServerAddress("h", 1));
        assertThat(parse("example://h:1/a@b")).hasToString("example://***");
        assertThat(parse("example://h:1/a?x=a@b")).hasToString("example://***");
    }

    @Test
    void refusalsShowNothingBeforeTheLastAtIfThatMayEndALogin() {
        assertThatThrownBy(() -> refusing("example://user:1/sec@h"))
                .hasMessageContainingAll(
                        "is example://HOST, but was example://***@h.", "each @ that does not end", "%40")
                .hasNoCause()
                .hasMessageNotContaining("reason");
        assertThatThrownBy(() -> refusing("example://us@er:1?sec@h")).hasMessageNotContaining("reason");
        assertThatThrownBy(() -> refusing("example://h?a=b@c")).hasMessage("reason");
        assertThatThrownBy(() -> refusing("example://u:p@h?a=b")).hasMessage("reason");
    }

    private static StoreUrl refusing(String url) {
        return StoreUrl.parse(url, "Example", "example://HOST", 7, parsed -> {
            throw new IllegalArgumentException("reason");
        });
    }

    @Test
    void whatIsMissingIsEmptyOrNull() {
        StoreUrl url = parse("example://h");
        assertThat(url).isEqualTo(new StoreUrl("example", null, null, url.servers(), "", ""));
        assertThat(parse("example://user@h").user()).isEqualTo("user");
        assertThat(parse("example://user@h").password()).isNull();
        assertThat(parse("example://user:@h").password()).isEmpty();
        assertThat(parse("example://:secret@h").user()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "example://",
                "example:///path",
                "example://h,",
                "example://,h",
                "example://a b",
                "example://h:port",
                "example://h:1:2",
                "example://[::1",
                "example://user:sec/ret@h",
                "example://user:sec?ret@h",
                "example://user:secret@",
                "Example://user:secret@h",
                "h"
            })
    void wrongOnesAreRefusedWithTheFormAndWithoutThePassword(String url) {
        assertThatThrownBy(() -> parse(url))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("in Example is example://HOST")
                .message()
                .doesNotContain("sec", "ret@");
    }

    @ParameterizedTest
    @ValueSource(strings = {"example://h:0", "example://h:70000", "example://u:sec%zzret@h"})
    void wrongNumbersAndEscapesAreRefused(String url) {
        assertThatThrownBy(() -> parse(url))
                .isInstanceOf(IllegalArgumentException.class)
                .hasNoCause()
                .message()
                .doesNotContain("sec");
    }

    @Test
    void serversAreBounded() {
        String servers = "h,".repeat(StoreUrl.MAX_SERVERS);
        assertThat(parse("example://" + servers.substring(0, servers.length() - 1))
                        .servers())
                .hasSize(StoreUrl.MAX_SERVERS);
        assertThatThrownBy(() -> parse("example://u:secret@" + servers + "h"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("32 servers, but had 33")
                .message()
                .doesNotContain("secret");
    }

    @ParameterizedTest
    @CsvSource({
        "redis://u:p@h/1, redis://***@h/1",
        "redis://u:p/x?y@h, redis://***@h",
        "redis://h?x=1&sentinelPassword=p&rest, redis://h?x=1&sentinelPassword=***",
        "zookeeper://h?keyStorePassword=p, zookeeper://h?keyStorePassword=***",
        "redis://u:password=x@h/1, redis://***@h/1",
        "redis:u:p@h/1, redis:***@h/1",
        "redis:/u:p@h/1, redis:/***@h/1",
        "redis::p/a@b@h, redis:***@h",
        "sqlite:/home/u@x/locks.db, sqlite:/home/u@x/locks.db",
        "zookeeper://h?trustStorePassword=a;b, zookeeper://h?trustStorePassword=***",
        "jdbc:mysql://u:p@h/db, jdbc:mysql://u:***@h/db",
        "jdbc:mysql://u:p/a@ss@h/db, jdbc:mysql://u:***@h/db",
        "jdbc:mysql://h/db?user=u&password1=p&password2=q, jdbc:mysql://h/db?user=u&password1=***",
        "jdbc:mysql://u:p?password=x@h/db, jdbc:mysql://u:***",
        "jdbc:postgresql://u:1?p;USER=@h/db, jdbc:postgresql://u:***@h/db",
        "jdbc:mysql://u:1;p;user=@h/db, jdbc:mysql://u:***@h/db",
        "jdbc:h2:tcp://h:1/db;USER=u@x, jdbc:h2:tcp://h:1/db;USER=u@x",
        "jdbc:postgresql:u:p@h/db, jdbc:postgresql:u:***@h/db",
        "jdbc:mariadb:/u:p/a@ss@h/db, jdbc:mariadb:/u:***@h/db",
        "jdbc:postgresql:db?user=u@x&options=a:b, jdbc:postgresql:db?user=u@x&options=a:b",
        "jdbc:oracle:thin:u/p@h:1521/x, jdbc:oracle:thin:u/***@h:1521/x",
        "jdbc:oracle:thin:u/p@//h:1521/x, jdbc:oracle:thin:u/***@//h:1521/x",
        "jdbc:oracle:thin:u/a//b:c@d@h:1521/x, jdbc:oracle:thin:u/***@h:1521/x",
        "jdbc:oracle:thin:@//h:1521/x, jdbc:oracle:thin:@//h:1521/x",
        "jdbc:postgresql://h:5432/db?user=u@x, jdbc:postgresql://h:5432/db?user=u@x",
        "jdbc:postgresql://h:5432/db?user=u@x&ssl=true, jdbc:postgresql://h:5432/db?user=u@x&ssl=true",
        "jdbc:postgresql://h:5432/db?user=u@x&password=p, jdbc:postgresql://h:5432/db?user=u@x&password=***",
        "jdbc:postgresql://h/db?user=u&password=p@q, jdbc:postgresql://h/db?user=u&password=***",
        "jdbc:sqlserver://h:1433;user=u@x;password=p, jdbc:sqlserver://h:1433;user=u@x;password=***",
        "jdbc:postgresql://h/db?user=u&password=p&ssl=true, jdbc:postgresql://h/db?user=u&password=***",
        "jdbc:h2:mem:x;USER=u;PASSWORD=p;MODE=z, jdbc:h2:mem:x;USER=u;PASSWORD=***",
        "memory:, memory:",
    })
    void passwordsAreNotShown(String url, String shown) {
        assertThat(StoreUrl.withoutPassword(url)).isEqualTo(shown);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "redis://u:secret@h",
                "jdbc:mysql://u:secret@h/db",
                "jdbc:postgresql:u:secret@h/db",
                "jdbc:oracle:thin:u/secret@h:1521/x",
                "jdbc:postgresql://h/db?password=secret"
            })
    void failureThatShowsThePasswordIsReplaced(String url) {
        RuntimeException failure = new IllegalStateException("not opened", new IOException("no driver takes " + url));
        assertThat(StoreUrl.hiding(url, failure))
                .hasNoCause()
                .hasMessageContaining("(a IllegalStateException)")
                .message()
                .doesNotContain("secret");
    }

    @ParameterizedTest
    @ValueSource(strings = {"redis://u@h?prefix=secret", "jdbc:postgresql://h/secret?user=u", "sqlite:/secret@x"})
    void failureThatShowsNoPasswordStays(String url) {
        RuntimeException failure = new IllegalStateException("no driver takes " + url);
        assertThat(StoreUrl.hiding(url, failure)).isSameAs(failure);
    }
}
