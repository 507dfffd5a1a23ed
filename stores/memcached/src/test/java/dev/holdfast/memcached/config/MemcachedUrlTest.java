package dev.holdfast.memcached.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class MemcachedUrlTest {

    private static final String SECRET = "SECRET";

    @Test
    void partsAreRead() {
        MemcachedUrl url = MemcachedUrl.parse(
                "memcacheds://me:a%2Fb%40c@cache.example:11311/?timeout=500ms&prefix=shop&login=sasl&ca=/etc/ca.pem");
        assertThat(url.tls()).isTrue();
        assertThat(url.user()).isEqualTo("me");
        assertThat(url.password()).isEqualTo("a/b@c");
        assertThat(url.server().host()).isEqualTo("cache.example");
        assertThat(url.server().port()).isEqualTo(11311);
        assertThat(url.options())
                .isEqualTo(new MemcachedOptions(Duration.ofMillis(500), "shop", true, "/etc/ca.pem", null, null));
        assertThat(url).hasToString("memcacheds://cache.example:11311");
    }

    @Test
    void defaultsAreTheUsualPortAndTwoSeconds() {
        MemcachedUrl url = MemcachedUrl.parse("memcached://h");
        assertThat(url.server().port()).isEqualTo(11211);
        assertThat(url.user()).isNull();
        assertThat(url.options()).isEqualTo(MemcachedOptions.DEFAULTS);
    }

    @Test
    void severalServersAreRefusedWithTheReason() {
        assertThatThrownBy(() -> MemcachedUrl.parse("memcached://me:" + SECRET + "@a,b:1"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("one server")
                .hasMessageContaining("hashing")
                .hasMessageNotContaining(SECRET);
    }

    @Test
    void wrongUrlsAreRefused() {
        for (String wrong : List.of(
                "memcached://",
                "memcached://h/path",
                "memcached://user@h",
                "memcached://:x@h",
                "redis://h",
                "memcached://h:0",
                "memcached://h:65536",
                "memcached://h?unknown=1",
                "memcached://h?timeout=soon",
                "memcached://h?timeout=9s",
                "memcached://h?prefix=",
                "memcached://h?prefix=a:b",
                "memcached://h?prefix=a%20b",
                "memcached://h?login=sasl",
                "memcached://a:b@h?login=kerberos",
                "memcached://h?ca=/etc/ca.pem",
                "memcacheds://h?cert=/etc/cert.pem")) {
            assertThatThrownBy(() -> MemcachedUrl.parse(wrong)).as(wrong).isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void passwordsAreNotShown() {
        for (String url : List.of(
                "memcached://user:" + SECRET + "@h",
                "memcached://user:" + SECRET + "@h/path",
                "memcached://user:" + SECRET + "@h?unknown=1",
                "memcached://user:" + SECRET + "@h?timeout=9s",
                "memcached://user:" + SECRET + "@a,b",
                "memcached://user:1/" + SECRET + "@h",
                "memcached://user:1?" + SECRET + "@h",
                "memcached://:" + SECRET + "@h",
                "memcached:user:" + SECRET + "@h")) {
            try {
                assertThat(MemcachedUrl.parse(url).toString()).as(url).doesNotContain(SECRET);
            } catch (IllegalArgumentException refused) {
                assertThat(refused).message().as(url).doesNotContain(SECRET);
            }
        }
    }
}
