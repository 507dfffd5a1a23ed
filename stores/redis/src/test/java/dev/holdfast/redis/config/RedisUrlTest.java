package dev.holdfast.redis.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.redis.RedisLockStoreProvider;
import dev.holdfast.store.ServerAddress;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RedisUrlTest {

    @Test
    void hostAloneHasDefaults() {
        RedisUrl url = RedisUrl.parse("redis://db.example");
        assertThat(url)
                .isEqualTo(new RedisUrl(
                        false,
                        null,
                        null,
                        List.of(new ServerAddress("db.example", 6379)),
                        null,
                        0,
                        RedisOptions.DEFAULTS));
        assertThat(RedisOptions.DEFAULTS.ticketTtl()).isEqualTo(Duration.ofSeconds(5));
    }

    @Test
    void everythingAtOnce() {
        RedisUrl url = RedisUrl.parse("rediss://us%3Aer:p%40ss+w%2Frd@[::1]:7000/3?ticketTtl=2s&keep=2d&timeout=500ms"
                + "&connections=4&prefix=app%3A");
        assertThat(url.tls()).isTrue();
        assertThat(url.user()).isEqualTo("us:er");
        assertThat(url.password()).isEqualTo("p@ss+w/rd");
        assertThat(url.hosts()).containsExactly(new ServerAddress("::1", 7000));
        assertThat(url.database()).isEqualTo(3);
        assertThat(url.options())
                .isEqualTo(new RedisOptions(
                        Duration.ofSeconds(2),
                        Duration.ofDays(2),
                        Duration.ofMillis(500),
                        4,
                        "app:",
                        false,
                        0,
                        Duration.ofMillis(500),
                        "",
                        "",
                        Layout.RECORD,
                        Stamp.MILLIS));
        assertThat(url).hasToString("rediss://[::1]:7000/3");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "redis://h?layout=unknown",
                "redis://h?layout=timestamps&stamp=minutes",
                "redis://h?stamp=seconds",
                "redis://h?layout=plain&replicas=1",
                "redis://h?layout=plain&timeout=5s",
                "redis://h?layout=redisson&replicas=1",
                "redis://h?prefix=holdfast:plain:x"
            })
    void whatTheLayoutsDoNotGoWithIsRefused(String text) {
        assertThatThrownBy(() -> RedisUrl.parse(text)).isInstanceOf(IllegalArgumentException.class);
    }

    /** Programs that share locks with Redisson know them by the names that Redisson gives their keys. */
    @Test
    void locksOfRedissonHaveNoPrefixUnlessItIsSet() {
        assertThat(RedisUrl.parse("redis://h?layout=redisson").options().prefix())
                .isEmpty();
        assertThat(RedisUrl.parse("redis://h?layout=redisson&prefix=app:")
                        .options()
                        .prefix())
                .isEqualTo("app:");
        assertThat(RedisUrl.parse("redis://h?layout=plain").options().prefix()).isEqualTo("holdfast:");
        assertThat(RedisUrl.parse("redis://h").options().prefix()).isEqualTo("holdfast:");
    }

    @Test
    void sentinels() {
        RedisUrl url =
                RedisUrl.parse("rediss-sentinel://u:p@s1:1,[::2],s3/my%2Dprimary/4?replicas=1&replicaTimeout=50ms"
                        + "&sentinelUser=su&sentinelPassword=a%26b");
        assertThat(url.tls()).isTrue();
        assertThat(url.hosts())
                .containsExactly(
                        new ServerAddress("s1", 1), new ServerAddress("::2", 26379), new ServerAddress("s3", 26379));
        assertThat(url.primaryName()).isEqualTo("my-primary");
        assertThat(url.database()).isEqualTo(4);
        assertThat(url.options().replicas()).isEqualTo(1);
        assertThat(url.options().replicaTimeout()).hasMillis(50);
        assertThat(url.options().sentinelUser()).isEqualTo("su");
        assertThat(url.options().sentinelPassword()).isEqualTo("a&b");
        assertThat(url).hasToString("rediss-sentinel://s1:1,[::2]:26379,s3:26379/my-primary/4");
    }

    @Test
    void severalHostsAreACluster() {
        RedisUrl url = RedisUrl.parse("redis://:secret@a,b:7001");
        assertThat(url.options().cluster()).isTrue();
        assertThat(url.hosts()).containsExactly(new ServerAddress("a", 6379), new ServerAddress("b", 7001));
        assertThat(RedisUrl.parse("redis://a?cluster=true").options().cluster()).isTrue();
        assertThat(RedisUrl.parse("redis://a").options().cluster()).isFalse();
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
                "redis://user:1/secret@h",
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
                "redis://h,",
                "redis://a,b/1",
                "redis://h?cluster=yes",
                "redis://h?replicas=17",
                "redis://h?replicas=1&replicaTimeout=5s",
                "redis://h?replicas=1&timeout=5s",
                "redis://h?sentinelPassword=secret",
                "redis-sentinel://h",
                "redis-sentinel://h/",
                "redis-sentinel://h/name/x",
                "redis-sentinel://h/name?cluster=true",
                "redis-sentinel://h/name?timeout=5s",
                "redis://h?prefix=a%20b"
            })
    void wrongOnesAreRefusedWithoutShowingThePassword(String text) {
        assertThatThrownBy(() -> RedisUrl.parse(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageNotContaining("ret@")
                .hasMessageNotContaining("user:sec");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "redis://h?ticketTtl=1h  | keep must be at least ten times ticketTtl, but was 1 h, and ticketTtl 1 h",
                "redis://h?replicas=-1   | replicas must be a whole number of at most 9 digits, but was \"-1\"",
            })
    void messagesNameTheCause(String text, String message) {
        assertThatThrownBy(() -> RedisUrl.parse(text)).hasMessage("Option " + message);
    }

    /** An @ that stands after the servers is no end of a login if all of the URL makes sense without one. */
    @ParameterizedTest
    @CsvSource({
        "redis://h?prefix=a@b, a@b",
        "redis://h:6379?prefix=a@b:c, a@b:c",
        "redis://u:p@h:6379/1?prefix=a@b&timeout=1s, a@b",
        "'redis://:p@a:7000,b:7001?prefix=a:b@c', a:b@c",
        "redis-sentinel://h:26379/app@prod, app@prod",
        "'redis-sentinel://u:p@h:26379,i/app@prod/1?prefix=x', app@prod",
        "redis-sentinel://h/app@prod?sentinelPassword=a@b, app@prod",
        "redis-sentinel://u:p@h:1/app%40prod?timeout=1s, app@prod",
    })
    void namesMayHaveAnAt(String text, String name) {
        RedisUrl url = RedisUrl.parse(text);
        assertThat(url.primaryName() == null ? url.options().prefix() : url.primaryName())
                .isEqualTo(name);
        assertThat(url.hosts()).extracting(ServerAddress::host).doesNotContain("u", "c", "prod");
        // The name may also be the rest of a password with an unencoded slash.
        assertThat(url.toString()).doesNotContain("app");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "redis://user:1/SECRET@h",
                "redis://user:1?SECRET@h",
                "redis://user:1?SECRET=x@h",
                "redis://user:1?timeout=SECRET@h",
                "redis://user:99999/SECRET@h",
                "redis://a,b:1/SECRET@h",
                "redis://user:@a:1/SECRET@h",
                "redis://user:@a:1?replicas=SECRET@h",
                "redis://us@er:1/SECRET@h",
                "redis-sentinel://user:1/SECRET@h/app",
                "redis-sentinel://user:@h/SECRET@i/app?prefix=x",
            })
    void restOfAPasswordIsNotShown(String text) {
        assertThatThrownBy(() -> RedisUrl.parse(text))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll("://***@", "/ ? @ % in user and password as", "%40")
                .hasNoCause()
                .message()
                .doesNotContain("SECRET");
    }

    @Test
    void whatFollowsTheServersIsNamedIfItCannotBeTheRestOfAPassword() {
        assertThatThrownBy(() -> RedisUrl.parse("redis://h?prefx=a@b")).hasMessageContaining("\"prefx\"");
    }

    @Test
    void unknownOptionsAreNamed() {
        assertThatThrownBy(() -> RedisUrl.parse("redis://h?unknown=1"))
                .hasMessageContaining("\"unknown\"")
                .hasMessageContaining("there are ticketTtl, keep, timeout, connections, prefix, cluster, replicas");
    }

    @Test
    void providerKnowsItsSchemes() {
        RedisLockStoreProvider provider = new RedisLockStoreProvider();
        assertThat(provider.accepts("redis://h")).isTrue();
        assertThat(provider.accepts("tair://h")).isTrue();
        assertThat(provider.accepts("tairs://h")).isTrue();
        assertThat(provider.accepts("rediss://h")).isTrue();
        assertThat(provider.accepts("redis-sentinel://h")).isTrue();
        assertThat(provider.accepts("redis+lettuce://h")).isFalse();
        assertThat(provider.accepts("sqlite:x")).isFalse();
    }
}
