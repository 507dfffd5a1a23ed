package dev.holdfast.redis.record;

import dev.holdfast.redis.client.RedisPort;
import dev.holdfast.redis.client.Replies;
import dev.holdfast.redis.client.Script;
import dev.holdfast.redis.client.ServerCall;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.NavigableSet;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;

/**
 * The search for the names in use. It asks one server after the other, and each for a part of its keys at a time,
 * because no single command may block the server's other clients for long.
 */
public final class KeyScan {

    /** How many keys one request examines. */
    private static final int KEYS_AT_ONCE = 1_000;

    private static final byte[] END = {'0'};

    private final RedisPort port;
    private final Script script;
    private final KeyPattern keys;
    private final String prefix;
    private final int limit;
    private final MonotonicClock clock;
    private final long deadline;
    private final NavigableSet<LockName> found = new TreeSet<>();
    private final CompletableFuture<List<LockName>> result = new CompletableFuture<>();
    private List<Integer> slots = List.of();
    private int server;
    private byte[] cursor = END;
    private int requests;

    public KeyScan(RedisPort port, Script script, KeyPattern keys, String prefix, int limit, MonotonicClock clock) {
        this.port = port;
        this.script = script;
        this.keys = keys;
        this.prefix = prefix;
        this.limit = limit;
        this.clock = clock;
        // The last request may take the other half of the time, until it fails because the server is gone.
        this.deadline = clock.nanoTime() + port.callTimeout().toNanos() / 2;
    }

    public CompletionStage<List<LockName>> run() {
        port.slots().whenComplete((each, failure) -> {
            if (failure != null) {
                result.completeExceptionally(cause(failure));
            } else if (each.isEmpty()) {
                result.complete(List.of());
            } else {
                slots = each;
                proceed();
            }
        });
        return result;
    }

    private static Throwable cause(Throwable failure) {
        Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
        return cause == null ? failure : cause;
    }

    // Loops while the port answers at once, so that a large database does not cause deep recursion.
    private void proceed() {
        while (!result.isDone()) {
            CompletableFuture<List<?>> page =
                    port.<List<?>>run(call(), Replies::list).toCompletableFuture();
            if (!page.isDone()) {
                page.whenComplete((parts, failure) -> {
                    take(page);
                    proceed();
                });
                return;
            }
            take(page);
        }
    }

    private ServerCall call() {
        return new ServerCall(script, 0, new byte[][] {cursor, keys.pattern(prefix), ServerCall.number(KEYS_AT_ONCE)})
                .inSlot(slots.get(server));
    }

    private void take(CompletableFuture<List<?>> page) {
        try {
            List<?> parts = page.join();
            requests++;
            cursor = Replies.bytes(parts, 0);
            for (int i = 1; i < parts.size(); i++) {
                byte[] key = Replies.bytes(parts, i);
                if (keys.isKey(key)) {
                    LockName name = keys.name(key);
                    if (name.value().startsWith(prefix)) {
                        found.add(name);
                    }
                }
            }
            if (cursor.length == 1 && cursor[0] == '0') {
                server++;
            }
            if (server == slots.size()) {
                result.complete(found.stream().limit(limit).toList());
            } else if (clock.nanoTime() - deadline > 0) {
                result.completeExceptionally(tooMany());
            }
        } catch (CompletionException failure) {
            result.completeExceptionally(cause(failure));
        }
    }

    private StoreException tooMany() {
        return StoreException.unavailable(
                Effect.NONE,
                port + " has too many keys: after "
                        + Duration.ofNanos(port.callTimeout().toNanos() / 2)
                        + " and " + requests * (long) KEYS_AT_ONCE + " keys the search for "
                        + new String(keys.pattern(prefix), StandardCharsets.UTF_8)
                        + " was not complete. Keep locks in a database of their own, or raise timeout",
                null);
    }
}
