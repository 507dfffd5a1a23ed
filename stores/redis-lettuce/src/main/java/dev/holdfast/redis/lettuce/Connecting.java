package dev.holdfast.redis.lettuce;

import io.lettuce.core.RedisConnectionException;
import io.lettuce.core.RedisException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;

/**
 * Makes connections through Lettuce, again if Lettuce cannot say why one was not made.
 *
 * <p>Lettuce (6.8 to 7.6) closes a connection whose handshake is refused, and loses the reason in two races. It looks for
 * the handler of the handshake once the connection is open; if the connection was refused and closed by then, the handler is
 * gone, and a wrong password is reported as "RedisHandshakeHandler not registered". And if the end of the connection is
 * noticed before the refusal was passed on, it is reported as "Connection closed prematurely" (3 of 1,200 connections on
 * a busy machine).
 */
final class Connecting {

    /** How often a connection is tried whose failure has no reason. The race is rare, so a second one nearly always has. */
    private static final int MAX_ATTEMPTS = 5;

    private Connecting() {}

    /** Makes a connection. A supplier that throws is not asked again. */
    static <T> CompletableFuture<T> connect(Supplier<? extends CompletionStage<T>> attempt) {
        return connect(attempt, 1);
    }

    private static <T> CompletableFuture<T> connect(Supplier<? extends CompletionStage<T>> attempt, int number) {
        CompletableFuture<T> made = attempt.get().toCompletableFuture();
        return made.exceptionallyCompose(failure -> number < MAX_ATTEMPTS && hasNoReason(failure)
                ? connect(attempt, number + 1)
                : CompletableFuture.failedFuture(failure));
    }

    /** As {@link #connect}, on this thread, for a call of Lettuce that waits. */
    static void connectNow(Runnable attempt) {
        for (int number = 1; ; number++) {
            try {
                attempt.run();
                return;
            } catch (RedisException failure) {
                if (number >= MAX_ATTEMPTS || !hasNoReason(failure)) {
                    throw failure;
                }
            }
        }
    }

    private static boolean hasNoReason(Throwable failure) {
        return ConnectFailure.all(failure).stream().anyMatch(one -> {
            String message = String.valueOf(one.getMessage());
            return (one instanceof IllegalStateException && message.contains("RedisHandshakeHandler"))
                    || (one instanceof RedisConnectionException && message.contains("closed prematurely"));
        });
    }
}
