package dev.holdfast.redis.record;

import dev.holdfast.redis.client.HashSlot;
import dev.holdfast.redis.client.RedisPort;
import dev.holdfast.redis.client.Replies;
import dev.holdfast.redis.client.Script;
import dev.holdfast.redis.client.ServerCall;
import dev.holdfast.redis.client.ServerError;
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
        port.slots()
                .whenComplete((each, failure) -> guarded(() -> {
                    if (failure != null) {
                        throw new CompletionException(failure);
                    }
                    slots = each;
                    if (each.isEmpty()) {
                        result.complete(List.of());
                    } else {
                        proceed();
                    }
                }));
        return result;
    }

    // Also what the port throws before it has sent anything: nobody would learn of it from the stage, and the
    // search would never end.
    private void guarded(Runnable step) {
        try {
            step.run();
        } catch (Throwable failure) {
            result.completeExceptionally(cause(failure));
        }
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
                page.whenComplete((done, failure) -> guarded(() -> {
                    take(page);
                    proceed();
                }));
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
                bySlot.computeIfAbsent(slot(key), number -> new ArrayList<>()).add(key);
            }
        }
        return ask(List.copyOf(bySlot.values()))
                .thenCompose(divided -> ask(divided.stream().map(List::of).toList()));
    }

    private int slot(byte[] key) {
        return port.isCluster() ? HashSlot.of(key) : 0;
    }

    /**
     * Asks which of these keys are in use, in one call for each list. Returns the keys of those lists of which some are at
     * another node, because their slot is being moved. That cannot be said of a single key.
     */
    private CompletionStage<List<byte[]>> ask(List<List<byte[]>> parts) {
        List<ServerCall> calls = new ArrayList<>();
        for (List<byte[]> part : parts) {
            List<byte[]> all = new ArrayList<>(part);
            all.addAll(Arrays.asList(arguments));
            calls.add(new ServerCall(script, part.size(), all.toArray(byte[][]::new)).inSlot(slot(part.get(0))));
        }
        return calls.isEmpty()
                ? CompletableFuture.completedStage(List.of())
                : port.runAll(calls, replies -> take(parts, replies));
    }

    private List<byte[]> take(List<List<byte[]>> parts, List<Object> replies) {
        List<byte[]> divided = new ArrayList<>();
        for (int i = 0; i < replies.size(); i++) {
            if (replies.get(i) instanceof StoreException failure) {
                if (parts.get(i).size() == 1 || !ServerError.isDivided(failure)) {
                    throw failure;
                }
                divided.addAll(parts.get(i));
            } else {
                List<?> inUse = Replies.list(replies.get(i));
                for (int j = 0; j < inUse.size(); j++) {
                    found.add(keys.name(Replies.bytes(inUse, j)));
                }
            }
        }
        return divided;
    }

    private void take(CompletableFuture<?> page) {
        page.join();
        if (cursor.length == 1 && cursor[0] == '0') {
            server++;
        }
        if (server == slots.size()) {
            result.complete(found.stream().limit(limit).toList());
        } else if (clock.nanoTime() - deadline > 0) {
            throw tooMany();
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
