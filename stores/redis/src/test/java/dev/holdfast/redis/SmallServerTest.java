package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.redis.config.Layout;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A server that is a 32-bit program would write times that are wrong. It is refused before it has written any. */
class SmallServerTest extends WithDouble {

    @ParameterizedTest
    @EnumSource(Layout.class)
    void serverOfThirtyTwoBitsIsRefused(Layout layout) {
        commands.haveThirtyTwoBits();
        assertThatThrownBy(() -> openUrl("redis://" + commands.address() + "?layout=" + layout))
                .isInstanceOfSatisfying(StoreException.class, failure -> {
                    assertThat(failure).hasMessageContaining("use a 64-bit server");
                    assertThat(failure.effect()).isEqualTo(Effect.NONE);
                    assertThat(failure.retryable()).isFalse();
                });
        assertThat((Object) server.ask(jedis -> jedis.dbSize())).isEqualTo(0L);
    }
}
