package dev.holdfast.redis;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Released.Handed;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.spi.StoreTraits;
import dev.holdfast.spi.StoreTraits.Liveness;
import dev.holdfast.spi.StoreTraits.TokenSurvival;
import dev.holdfast.spi.Ticket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import redis.clients.jedis.RedisClient;

/**
 * A store in a Redis server. Every transition is one script inside the server, which decides by the server's own clock, so
 * acquiring a free lock is one request and releasing it is another. The scripts do what {@link
 * dev.holdfast.spi.ResourceRecord} does; {@code record.lua} says which keys they use.
 *
 * <p>Opened by URL with {@link RedisLockStoreProvider}, or over a client of the user's with {@link #over(RedisClient)}.
 * Thread-safe.
 *
 * <h2>Overview for maintainers</h2>
 *
 * <p>Each store object has a channel of its own, and one subscription to it. A waiter's record names the channel. Whichever
 * client's call makes a waiter the owner publishes that on the waiter's channel; grants to waiters on the caller's own channel
 * come in the answer instead. So nothing is published if nobody waits, or if only the caller's waiters do.
 */
public final class RedisLockStore implements LockStore {

    /** The most claims of one script call: some tenths of a millisecond, for which other clients of the server wait. */
    static final int CALL_BATCH = 256;

    /** The argument that every script has: whose call it is, and the times that the options set. */
    private static final int CONTEXT = 1;

    private final RedisPort port;
    private final StoreTraits traits;
    private final LockKeys keys;
    private final MonotonicClock clock;
    private final String channelName;
    private final byte[] context;
    private final WaitingClaims waiting = new WaitingClaims();
    private final AtomicBoolean subscribed = new AtomicBoolean();

    private RedisLockStore(RedisPort port, RedisOptions options, MonotonicClock clock) {
        this.port = port;
        this.clock = clock;
        this.keys = new LockKeys(options.prefix());
        this.channelName = keys.newChannel();
        this.context = (channelName
                        + ' '
                        + ClaimBytes.millis(options.ticketTtl())
                        + ' '
                        + ClaimBytes.millis(options.keep()))
                .getBytes(StandardCharsets.UTF_8);
        this.traits = new StoreTraits(
                "redis",
                true,
                true,
                true,
                TokenSurvival.DATA_LOSS,
                Liveness.LEASE,
                Duration.ofMillis(1),
                Duration.ofMillis(ClaimBytes.millis(options.ticketTtl())),
                port.callTimeout());
    }

    /** A store over a client of the user's, with the default options. See {@link #over(RedisClient, String)}. */
    public static RedisLockStore over(RedisClient client) {
        return over(client, "");
    }

    /**
     * A store over a client of the user's, which is never closed by the store. The store works with connections of the
     * client's pool: it keeps one for renewals and one for its subscription, so the pool must have at least three, and gives
     * back all when it is closed. How long a connection and a reply are waited for is the client's own business; give it
     * time-outs.
     *
     * @param options as behind the question mark of a URL: {@code ticketTtl=3s&prefix=app:}; {@code timeout} limits the wait
     *     for a connection of the pool, {@code connections} is ignored
     * @throws IllegalArgumentException if an option is wrong, or the pool too small
     */
    public static RedisLockStore over(RedisClient client, String options) {
        RedisOptions parsed = RedisOptions.parse(options);
        MonotonicClock clock = MonotonicClock.SYSTEM;
        return opened(new JedisPort(new BorrowedConnections(client, parsed, clock), parsed, clock), parsed, clock);
    }

    /** A store over any client library. The store closes the port. */
    static RedisLockStore opened(RedisPort port, RedisOptions options, MonotonicClock clock) {
        RedisLockStore store = new RedisLockStore(port, options, clock);
        boolean ready = false;
        try {
            // Shows that the server is there and lets us in.
            store.inspect(new LockName("holdfast")).toCompletableFuture().join();
            ready = true;
            return store;
        } catch (CompletionException failure) {
            throw storeException(failure);
        } finally {
            if (!ready) {
                store.close();
            }
        }
    }

    @Override
    public StoreTraits traits() {
        return traits;
    }

    @Override
    public CompletionStage<Attempt> tryAcquire(Claim claim) {
        return port.run(call(Script.ACQUIRE, claim), reply -> {
            Reply read = Reply.of(reply, claim);
            waiting.grantedAll(read.handed());
            return read.attempt(claim);
        });
    }

    @Override
    public CompletionStage<List<Attempt>> tryAcquireAll(List<Claim> claims) {
        if (claims.isEmpty() || claims.size() > MAX_SEVERAL) {
            throw new IllegalArgumentException(
                    "1 to " + MAX_SEVERAL + " claims can be made at once, not " + claims.size());
        }
        if (claims.stream().map(Claim::name).distinct().count() < claims.size()) {
            throw new IllegalArgumentException("Claims made at once must name different resources");
        }
        List<Claim> several = List.copyOf(claims);
        return port.run(call(Script.SEVERAL, several), reply -> {
            List<?> parts = Reply.list(reply);
            waiting.grantedAll(Reply.handed(Reply.list(parts.get(2)), 0));
            List<?> numbers = Reply.list(parts.get(1));
            int code = (int) Reply.number(parts, 0);
            if (code == Reply.HELD) {
                List<Attempt> attempts = new ArrayList<>(several.size());
                for (int i = 0; i < several.size(); i++) {
                    Duration left = ClaimBytes.micros(Reply.number(numbers, 2 * i + 1));
                    attempts.add(new Attempt.Granted(Reply.number(numbers, 2 * i), left));
                }
                return attempts;
            }
            if (code == Reply.BUSY) {
                return List.of(new Attempt.Busy(ClaimBytes.micros(Reply.number(numbers, 0))));
            }
            Claim refused = several.get((int) Reply.number(numbers, 0) - 1);
            long second = numbers.size() > 2 ? Reply.number(numbers, 2) : 0;
            return List.of(new Reply(code, Reply.number(numbers, 1), second, List.of()).attempt(refused));
        });
    }

    @Override
    public Ticket enqueue(Claim claim, ClaimListener listener) {
        WaitingClaims.Waiter waiter = waiting.add(claim, listener);
        if (subscribed.get()) {
            enqueue(claim, waiter);
        } else {
            port.subscribe(channelName, new Ears()).whenComplete((done, failure) -> {
                if (failure != null) {
                    waiter.failed(storeException(failure));
                } else {
                    subscribed.set(true);
                    enqueue(claim, waiter);
                }
            });
        }
        return waiter;
    }

    private void enqueue(Claim claim, WaitingClaims.Waiter waiter) {
        port.run(call(Script.ENQUEUE, claim), reply -> {
                    Reply read = Reply.of(reply, claim);
                    waiting.grantedAll(read.handed());
                    return read.renewed(claim);
                })
                .whenComplete((answer, failure) -> {
                    if (failure != null) {
                        waiter.failed(storeException(failure));
                    } else {
                        waiter.answered(answer);
                    }
                });
    }

    @Override
    public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
        if (claims.size() > MAX_BATCH) {
            throw new IllegalArgumentException(
                    "At most " + MAX_BATCH + " claims can be renewed at once, not " + claims.size());
        }
        List<Claim> batch = List.copyOf(claims);
        List<ScriptCall> calls = new ArrayList<>();
        for (int from = 0; from < batch.size(); from += CALL_BATCH) {
            calls.add(call(Script.RENEW, batch.subList(from, Math.min(batch.size(), from + CALL_BATCH))));
        }
        return port.runAll(calls, replies -> renewed(batch, replies));
    }

    private List<Renewed> renewed(List<Claim> batch, List<Object> replies) {
        List<Renewed> answers = new ArrayList<>(batch.size());
        List<Handed> handed = new ArrayList<>();
        for (int i = 0; i < replies.size(); i++) {
            List<Claim> part = batch.subList(i * CALL_BATCH, Math.min(batch.size(), (i + 1) * CALL_BATCH));
            if (replies.get(i) instanceof StoreException failure) {
                if (replies.size() == 1) {
                    throw failure;
                }
                part.forEach(claim -> answers.add(new Renewed.Failed(failure)));
            } else {
                List<?> parts = Reply.list(replies.get(i));
                handed.addAll(Reply.handed(Reply.list(parts.get(1)), 0));
                List<?> numbers = Reply.list(parts.get(0));
                for (int j = 0; j < part.size(); j++) {
                    answers.add(renewed(part.get(j), numbers, 3 * j));
                }
            }
        }
        waiting.grantedAll(handed);
        for (int i = 0; i < answers.size(); i++) {
            waiting.renewed(batch.get(i).id(), answers.get(i));
        }
        return answers;
    }

    private static Renewed renewed(Claim claim, List<?> numbers, int at) {
        int code = (int) Reply.number(numbers, at);
        if (code == Reply.UNREADABLE) {
            return new Renewed.Failed(ServerError.of(Reply.text(numbers, at + 1), claim.name(), null));
        }
        return new Reply(code, Reply.number(numbers, at + 1), Reply.number(numbers, at + 2), List.of()).renewed(claim);
    }

    @Override
    public CompletionStage<Released> release(Claim claim) {
        return port.run(releaseCall(claim), reply -> {
            waiting.ended(claim.id(), Renewed.Reason.RELEASED);
            if (reply instanceof Long) {
                return Released.ALONE;
            }
            Reply read = Reply.of(reply, claim);
            List<Handed> elsewhere = waiting.grantedAll(read.handed());
            boolean found = read.code() == 1;
            if (elsewhere.isEmpty()) {
                return found ? Released.ALONE : Released.NOT_OWNER;
            }
            return new Released(found, elsewhere);
        });
    }

    @Override
    public CompletionStage<Optional<ResourceState>> inspect(LockName name) {
        byte[][] arguments = new byte[1 + CONTEXT][];
        arguments[0] = keys.key(name);
        arguments[1] = context;
        return port.run(new ScriptCall(Script.INSPECT, 1, arguments), reply -> {
            List<?> parts = Reply.list(reply);
            waiting.grantedAll(Reply.handed(Reply.list(parts.get(5)), 0));
            return Optional.of(Views.state(name, parts)).filter(ResourceState::isInUse);
        });
    }

    @Override
    public CompletionStage<List<LockName>> list(String prefix, int limit) {
        if (limit < 1 || limit > MAX_LIST) {
            throw new IllegalArgumentException("1 to " + MAX_LIST + " names can be listed, not " + limit);
        }
        return new NameSearch(port, keys, prefix, limit, clock).run();
    }

    @Override
    public void close() {
        waiting.clear();
        port.close();
    }

    private ScriptCall call(Script script, Claim claim) {
        byte[][] arguments = new byte[1 + CONTEXT + ClaimBytes.FIELDS][];
        arguments[0] = keys.key(claim.name());
        arguments[1] = context;
        ClaimBytes.put(arguments, 1 + CONTEXT, claim);
        return new ScriptCall(script, 1, arguments);
    }

    private ScriptCall call(Script script, List<Claim> claims) {
        int count = claims.size();
        byte[][] arguments = new byte[count + CONTEXT + count * ClaimBytes.FIELDS][];
        arguments[count] = context;
        for (int i = 0; i < count; i++) {
            arguments[i] = keys.key(claims.get(i).name());
            ClaimBytes.put(arguments, count + CONTEXT + i * ClaimBytes.FIELDS, claims.get(i));
        }
        return new ScriptCall(script, count, arguments);
    }

    private ScriptCall releaseCall(Claim claim) {
        return new ScriptCall(Script.RELEASE, 1, new byte[][] {
            keys.key(claim.name()),
            context,
            ClaimBytes.id(claim.id()),
            ClaimBytes.number(ClaimBytes.millis(claim.lease())),
            ClaimBytes.flag(claim.repeated())
        });
    }

    private static StoreException storeException(Throwable failure) {
        Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
        return cause instanceof StoreException ours
                ? ours
                : StoreException.unavailable(Effect.UNKNOWN, "The store failed: " + cause, cause);
    }

    @Override
    public String toString() {
        return "redis store " + port;
    }

    /** Hears what other clients' calls have made of this store's waiters. */
    private final class Ears implements RedisPort.Subscriber {

        @Override
        public void message(String text) {
            String[] words = text.split(" ", -1);
            try {
                if (words.length == 2 && words[0].equals("ended")) {
                    waiting.ended(ClaimId.parse(words[1]), Renewed.Reason.RELEASED);
                } else if (words.length == 4 && words[0].equals("granted")) {
                    Duration lease = Duration.ofMillis(Long.parseLong(words[3]));
                    waiting.granted(ClaimId.parse(words[1]), Long.parseLong(words[2]), lease);
                }
            } catch (IllegalArgumentException notOurs) {
                // Somebody else's message on our channel must not end the subscription.
                return;
            }
        }

        @Override
        public void resubscribed() {
            List<Claim> queued = waiting.queued();
            for (int from = 0; from < queued.size(); from += MAX_BATCH) {
                // What fails now is refreshed when the next refresh is due.
                renew(queued.subList(from, Math.min(queued.size(), from + MAX_BATCH)));
            }
        }
    }
}
