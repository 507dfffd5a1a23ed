package dev.holdfast.memcached.client;

import static org.assertj.core.api.Assertions.assertThat;

import com.spotify.folsom.MemcacheOverloadedException;
import dev.holdfast.spi.StoreException.Effect;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;

/** Tests of what a failed request may have done. */
class MemcachedErrorsTest {

    /** The write may be sent although there is no place any more for the reading that follows it. */
    @Test
    void tooManyRequestsMayHaveAnEffect() {
        Throwable overloaded =
                new CompletionException(new MemcacheOverloadedException("too many outstanding requests"));
        assertThat(MemcachedErrors.of(overloaded, Effect.UNKNOWN, "server").effect())
                .isEqualTo(Effect.UNKNOWN);
        assertThat(MemcachedErrors.of(overloaded, Effect.NONE, "server").effect())
                .isEqualTo(Effect.NONE);
    }
}
