package dev.holdfast.etcd.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.store.ServerAddress;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is read from URLs, and how wrong URLs are refused. */
class EtcdUrlTest {

    @Test
    void allPartsAreRead() {
        EtcdUrl url = EtcdUrl.parse(
                "etcds://app:p%40ss@a.example,b.example:1,[::1]:2?session=15s&timeout=1s&prefix=x/&ca=%2Fa&cert=b&key=c");
        assertThat(url.tls()).isTrue();
        assertThat(url.user()).isEqualTo("app");
        assertThat(url.password()).isEqualTo("p@ss");
        assertThat(url.servers())
                .containsExactly(
                        new ServerAddress("a.example", 2379),
                        new ServerAddress("b.example", 1),
                        new ServerAddress("::1", 2));
        assertThat(url.options())
                .isEqualTo(new EtcdOptions(Duration.ofSeconds(15), Duration.ofSeconds(1), "x/", "/a", "b", "c"));
        assertThat(url).hasToString("etcds://a.example:2379,b.example:1,[::1]:2");
        assertThat(EtcdUrl.parse("etcd://host").options()).isEqualTo(EtcdOptions.DEFAULTS);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "etcds://h?ca=/a@b",
                "etcds://h:2379?ca=/a@b",
                "etcds://u:p@h:2379,i?prefix=a@b/&ca=c@d&timeout=1s",
            })
    void optionsMayHaveAnAt(String url) {
        assertThat(EtcdUrl.parse(url).options().ca()).contains("@");
        assertThat(EtcdUrl.parse(url).servers().get(0).host()).isEqualTo("h");
    }

    @ParameterizedTest
    @CsvSource({
        "etcd://user:1/secret@h, etcd://***@h",
        "etcd://user:1?secret@h, etcd://***@h",
        "etcd://user:1?prefix=secret@h&session=1m&timeout=1h, etcd://***@h",
        "etcd://, HOST",
        "etcd://user:secret@, ***",
        "etcd://host:0, port",
        "etcd://host:70000, port",
        "'etcd://host,', HOST[:PORT]",
        "etcd://host?sesion=5s, sesion",
        "etcd://host?session=1500ms, whole seconds",
        "etcd://host?session=500ms, session",
        "etcd://host?session=5s&session=6s, twice",
        "etcd://host?timeout=1m, timeout",
        "etcd://host?prefix=a b, prefix",
        "etcd://host?ca=x, etcds",
        "etcds://host?cert=x, key",
    })
    void wrongUrlsAreRefused(String url, String why) {
        assertThatThrownBy(() -> EtcdUrl.parse(url))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(why)
                .hasMessageNotContaining("secret");
    }
}
