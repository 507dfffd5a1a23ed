package dev.holdfast.redis.record;

import dev.holdfast.redis.client.HashSlot;
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
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;

/**
 * The search for the names in use. It asks one server after the other, and each for a part of its keys at a time,
 * because no single command may block the server's other clients for long. Which of these keys are in use is asked of a
 * script that declares them, since a server may refuse scripts that touch others.
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
    private final byte[][] arguments;
    private final long deadline;
    private final NavigableSet<LockName> found = new TreeSet<>();
    private final CompletableFuture<List<LockName>> result = new CompletableFuture<>();
    private List<Integer> slots = List.of();
    private int server;
    private byte[] cursor = END;
    private int requests;

    /**
     * @param script finds those of its keys that are in use
     * @param arguments what the script has as its arguments
     */
    public KeyScan(
            RedisPort port,
            Script script,
            KeyPattern keys,
            String prefix,
            int limit,
            MonotonicClock clock,
            byte[]... arguments) {
        this.port = port;
        this.script = script;
        this.keys = keys;
        this.prefix = prefix;
        this.limit = limit;
        this.clock = clock;
        this.arguments = arguments;
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
            CompletableFuture<?> page = page().toCompletableFuture();
            if (!page.isDone()) {
                page.whenComplete((done, failure) -> {
                    take(page);
                    proceed();
                });
                return;
            }
            take(page);
        }
    }

    private CompletionStage<?> page() {
        ServerCall search = ServerCall.search(cursor, keys.pattern(prefix), KEYS_AT_ONCE);
        return port.<List<?>>run(search.inSlot(slots.get(server)), Replies::list)
                .thenCompose(parts -> {
                    requests++;
                    cursor = Replies.bytes(parts, 0);
                    return findInUse(Replies.list(parts.get(1)));
                });
    }

    // All keys of a call are in one slot. Without a cluster the port knows one slot only.
    private CompletionStage<?> findInUse(List<?> candidates) {
        Map<Integer, List<byte[]>> bySlot = new TreeMap<>();
        for (int i = 0; i < candidates.size(); i++) {
            byte[] key = Replies.bytes(candidates, i);
            if (keys.isKey(key) && keys.name(key).value().startsWith(prefix)) {
                int slot = port.isCluster() ? HashSlot.of(key) : 0;
                bySlot.computeIfAbsent(slot, number -> new ArrayList<>()).add(key);
            }
        }
        List<ServerCall> calls = new ArrayList<>();
        for (Map.Entry<Integer, List<byte[]>> part : bySlot.entrySet()) {
            List<byte[]> each = part.getValue();
            int count = each.size();
            each.addAll(Arrays.asList(arguments));
            ServerCall call = new ServerCall(script, count, each.toArray(byte[][]::new)).inSlot(part.getKey());
            calls.add(call);
        }
        return calls.isEmpty() ? CompletableFuture.completedStage(true) : port.runAll(calls, this::found);
    }

    private boolean found(List<Object> replies) {
        for (Object reply : replies) {
            if (reply instanceof StoreException failure) {
                throw failure;
            }
            List<?> inUse = Replies.list(reply);
            for (int i = 0; i < inUse.size(); i++) {
                found.add(keys.name(Replies.bytes(inUse, i)));
            }
        }
        return true;
    }

    private void take(CompletableFuture<?> page) {
        try {
            page.join();
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
