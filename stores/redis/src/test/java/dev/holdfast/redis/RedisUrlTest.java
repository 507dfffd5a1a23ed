package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RedisUrlTest {

    @Test
    void hostAloneHasDefaults() {
        RedisUrl url = RedisUrl.parse("redis://db.example");
        assertThat(url).isEqualTo(new RedisUrl(false, null, null, "db.example", 6379, 0, RedisOptions.DEFAULTS));
        assertThat(RedisOptions.DEFAULTS.ticketTtl()).isEqualTo(Duration.ofSeconds(5));
    }

    @Test
    void everythingAtOnce() {
        RedisUrl url = RedisUrl.parse("rediss://us%3Aer:p%40ss+w%2Frd@[::1]:7000/3?ticketTtl=2s&keep=2d&timeout=500ms"
                + "&connections=4&prefix=app%3A");
        assertThat(url.tls()).isTrue();
        assertThat(url.user()).isEqualTo("us:er");
        assertThat(url.password()).isEqualTo("p@ss+w/rd");
        assertThat(url.host()).isEqualTo("::1");
        assertThat(url.port()).isEqualTo(7000);
        assertThat(url.database()).isEqualTo(3);
        assertThat(url.options())
                .isEqualTo(
                        new RedisOptions(Duration.ofSeconds(2), Duration.ofDays(2), Duration.ofMillis(500), 4, "app:"));
        assertThat(url).hasToString("rediss://[::1]:7000/3");
    }

    @ParameterizedTest
    @CsvSource({
        "redis://:secret@h, , secret",
        "redis://user@h, user, ''",
        "redis://user:secret@h/, user, secret",
    })
    void logins(String text, String user, String password) {
        RedisUrl url = RedisUrl.parse(text);
        assertThat(url.user()).isEqualTo(user);
        assertThat(url.password()).isEqualTo(password);
        assertThat(url.toString()).doesNotContain("secret");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "redis://",
                "redis:///1",
                "redis://h:port",
                "redis://h:0",
                "redis://h:70000",
                "redis://h/x",
                "redis://h/1/2",
                "redis://user:sec/ret@h",
                "redis://user:sec%ret@h",
                "redis://user:sec%zzret@h",
                "redis://h?unknown=1",
                "redis://h?ticketTtl",
                "redis://h?ticketTtl=soon",
                "redis://h?ticketTtl=1ms",
                "redis://h?ticketTtl=2s&ticketTtl=3s",
                "redis://h?keep=10s",
                "redis://h?timeout=1m",
                "redis://h?connections=0",
                "redis://h?connections=many",
                "redis://h?prefix={a}",
                "redis://h?prefix=a%20b"
            })
    void wrongOnesAreRefusedWithoutShowingThePassword(String text) {
        assertThatThrownBy(() -> RedisUrl.parse(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageNotContaining("ret@")
                .hasMessageNotContaining("user:sec");
    }

    @Test
    void unknownOptionsAreNamed() {
        assertThatThrownBy(() -> RedisUrl.parse("redis://h?replicas=1"))
                .hasMessageContaining("\"replicas\"")
                .hasMessageContaining("there are ticketTtl, keep, timeout, connections and prefix");
    }

    @Test
    void providerKnowsItsSchemes() {
        RedisLockStoreProvider provider = new RedisLockStoreProvider();
        assertThat(provider.accepts("redis://h")).isTrue();
        assertThat(provider.accepts("rediss://h")).isTrue();
        assertThat(provider.accepts("redis-sentinel://h")).isFalse();
        assertThat(provider.accepts("sqlite:x")).isFalse();
    }
}
