package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.Connection;

/** The versions of Jedis that an application may have. {@code ./test} runs the laws with the oldest one that works. */
class JedisVersionTest {

    private static final Set<String> NAMED = OtherVersion.namedBy(RedisLockStore.class);

    @ParameterizedTest
    @ValueSource(strings = {"jedis-7.2.0.jar", "jedis-7.4.1.jar"})
    void callsAreThere(String jar) throws Exception {
        try (OtherVersion other = OtherVersion.insteadOf(Connection.class, jar)) {
            assertThat(other.missing(NAMED)).isEmpty();
        }
    }

    @Test
    void anOlderVersionIsRefused() throws Exception {
        try (OtherVersion older = OtherVersion.insteadOf(Connection.class, "jedis-7.1.0.jar")) {
            assertThatThrownBy(() -> older.connect("redis://127.0.0.1"))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("redis.clients:jedis 7.2 or newer, but version 7.1.0 is on the class path")
                    .hasMessageContaining("jedis.version");
        }
    }

    @Test
    void noVersionIsRefused() throws Exception {
        try (OtherVersion none = OtherVersion.insteadOf(Connection.class)) {
            assertThatThrownBy(() -> none.connect("redis://127.0.0.1"))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("no version of it can be recognised");
        }
    }
}
