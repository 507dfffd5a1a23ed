package dev.holdfast.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.springframework.boot.data.redis.autoconfigure.DataRedisConnectionDetails;
import org.springframework.boot.ssl.SslBundle;
import org.springframework.boot.ssl.SslStoreBundle;

class RedisDetailsUrlTest {

    @Test
    void oneServer() {
        assertThat(RedisDetailsUrl.of(new Server(null, null, null), false, "+lettuce", ""))
                .isEqualTo("redis+lettuce://[::1]:6380/3");
        assertThat(RedisDetailsUrl.of(new Server("app", "p@ss wörd", null), false, "", "prefix=a:"))
                .isEqualTo("redis://app:p%40ss%20w%C3%B6rd@[::1]:6380/3?prefix=a:");
        assertThat(RedisDetailsUrl.of(new Server(null, "secret", SslBundle.systemDefault()), false, "", ""))
                .isEqualTo("rediss://:secret@[::1]:6380/3");
    }

    @Test
    void certificatesOfABundleAreRefused() {
        SslBundle bundle = SslBundle.of(SslStoreBundle.of(emptyStore(), null, null));
        assertThatThrownBy(() -> RedisDetailsUrl.of(new Server(null, null, bundle), false, "", ""))
                .isInstanceOf(NoLockStoreException.class)
                .hasMessageContaining("SSL bundle")
                .hasMessageContaining("LockStore");
    }

    private static java.security.KeyStore emptyStore() {
        try {
            java.security.KeyStore store = java.security.KeyStore.getInstance("PKCS12");
            store.load(null, null);
            return store;
        } catch (java.security.GeneralSecurityException | java.io.IOException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void sentinels() {
        assertThat(RedisDetailsUrl.of(new Sentinels(), false, "+lettuce", "prefix=a:"))
                .isEqualTo(
                        "redis-sentinel+lettuce://one:1,two:2/main/5?sentinelUser=guard&sentinelPassword=a%26b&prefix=a:");
    }

    /** Boot's clients use it with Sentinels and clusters, too. */
    @Test
    void tlsThatTheDetailsDoNotKnowOf() {
        assertThat(RedisDetailsUrl.of(new Server(null, "secret", null), true, "", ""))
                .isEqualTo("rediss://:secret@[::1]:6380/3");
        assertThat(RedisDetailsUrl.of(new Sentinels(), true, "+lettuce", ""))
                .startsWith("rediss-sentinel+lettuce://one:1,two:2/main/5");
        assertThat(RedisDetailsUrl.of(new Nodes(), true, "", "")).isEqualTo("rediss://one:1?cluster=true");
    }

    @Test
    void aCluster() {
        assertThat(RedisDetailsUrl.of(new Nodes(), false, "", "")).isEqualTo("redis://one:1?cluster=true");
    }

    private record Server(String getUsername, String getPassword, SslBundle getSslBundle)
            implements DataRedisConnectionDetails {

        @Override
        public Standalone getStandalone() {
            return Standalone.of("::1", 6380, 3);
        }
    }

    private record Sentinels() implements DataRedisConnectionDetails {

        @Override
        public Sentinel getSentinel() {
            return new Sentinel() {
                @Override
                public int getDatabase() {
                    return 5;
                }

                @Override
                public String getMaster() {
                    return "main";
                }

                @Override
                public List<Node> getNodes() {
                    return List.of(new Node("one", 1), new Node("two", 2));
                }

                @Override
                public String getUsername() {
                    return "guard";
                }

                @Override
                public String getPassword() {
                    return "a&b";
                }
            };
        }
    }

    private record Nodes() implements DataRedisConnectionDetails {

        @Override
        public Cluster getCluster() {
            return () -> List.of(new Node("one", 1));
        }
    }
}
