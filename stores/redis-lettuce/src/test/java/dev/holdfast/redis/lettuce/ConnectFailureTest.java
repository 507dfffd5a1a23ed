package dev.holdfast.redis.lettuce;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisConnectionException;
import io.lettuce.core.RedisException;
import java.net.ConnectException;
import org.junit.jupiter.api.Test;

/** How Lettuce's exceptions are translated if several servers were tried. */
class ConnectFailureTest {

    private static final Throwable AWAY = new RedisConnectionException("node 1", new ConnectException("is away"));

    @Test
    void refusalOfOneNodeCountsMoreThanUnreachableOthers() {
        StoreException meaning = ConnectFailure.meaning(
                new RedisException("no topology", severalTried("summary", AWAY, refusal("WRONGPASS wrong"))), "here");
        assertThat(meaning.retryable()).isFalse();
        assertThat(meaning).hasMessageContaining("here").hasMessageContaining("password is wrong");
    }

    @Test
    void refusalThatPassesHasNoEffect() {
        StoreException meaning = ConnectFailure.meaning(refusal("LOADING the data"), "here");
        assertThat(meaning.retryable()).isTrue();
        assertThat(meaning.effect()).isEqualTo(Effect.NONE);
    }

    @Test
    void failureOfANodeIsReportedInsteadOfTheSummary() {
        StoreException meaning = ConnectFailure.meaning(severalTried("summary", AWAY), "here");
        assertThat(meaning.retryable()).isTrue();
        assertThat(meaning.effect()).isEqualTo(Effect.NONE);
        assertThat(meaning).hasMessageContaining("is away").hasMessageNotContaining("summary");
    }

    @Test
    void passwordOfSentinelsIsDistinguishedFromThatOfTheServers() {
        StoreException meaning = ConnectFailure.meaning(
                severalTried("Cannot connect to a Redis Sentinel: [a, b]", AWAY, refusal("NOAUTH needed")), "here");
        assertThat(meaning.retryable()).isTrue();
        assertThat(meaning.effect()).isEqualTo(Effect.NONE);
        assertThat(meaning).hasMessageContaining("NOAUTH").hasMessageContaining("sentinelPassword");
    }

    private static Throwable severalTried(String summary, Throwable... failures) {
        RedisException all = new RedisException(summary);
        for (Throwable failure : failures) {
            all.addSuppressed(failure);
        }
        return all;
    }

    private static Throwable refusal(String message) {
        return new RedisConnectionException("node 2", new RedisCommandExecutionException(message));
    }
}
