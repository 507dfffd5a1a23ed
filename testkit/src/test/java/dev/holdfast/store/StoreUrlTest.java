package dev.holdfast.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is common to the URLs of all stores on servers. */
class StoreUrlTest {

    private static StoreUrl parse(String url) {
        return StoreUrl.parse(url, "Example", "example://HOST", 7);
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
        "zookeeper://h?trustStorePassword=a;b, zookeeper://h?trustStorePassword=***",
        "jdbc:mysql://u:p@h/db, jdbc:mysql://u:***@h/db",
        "jdbc:mysql://u:p/a@ss@h/db, jdbc:mysql://u:***@h/db",
        "jdbc:postgresql://h/db?user=u&password=p&ssl=true, jdbc:postgresql://h/db?user=u&password=***",
        "jdbc:h2:mem:x;USER=u;PASSWORD=p;MODE=z, jdbc:h2:mem:x;USER=u;PASSWORD=***",
        "memory:, memory:",
    })
    void passwordsAreNotShown(String url, String shown) {
        assertThat(StoreUrl.withoutPassword(url)).isEqualTo(shown);
    }
}
