package dev.holdfast.redis.lettuce;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.redis.OtherVersion;
import io.lettuce.core.RedisClient;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The versions of Lettuce that an application may have. {@code ./test} runs the laws with the oldest one that works. */
class LettuceVersionTest {

    private static final Set<String> NAMED = OtherVersion.namedBy(LettuceRedis.class);

    @ParameterizedTest
    @ValueSource(strings = {"lettuce-core-6.8.0.RELEASE.jar", "lettuce-core-7.6.0.RELEASE.jar"})
    void callsAreThere(String jar) throws Exception {
        try (OtherVersion other = OtherVersion.insteadOf(RedisClient.class, jar)) {
            assertThat(other.missing(NAMED)).isEmpty();
        }
    }

    @Test
    void anOlderVersionIsRefused() throws Exception {
        try (OtherVersion older = OtherVersion.insteadOf(RedisClient.class, "lettuce-core-6.7.1.RELEASE.jar")) {
            assertThatThrownBy(() -> older.connect("redis+lettuce://127.0.0.1"))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("io.lettuce:lettuce-core 6.8 or newer, but version 6.7.1.RELEASE is")
                    .hasMessageContaining("lettuce.version");
        }
    }
}
