package dev.holdfast.redis.record;

import dev.holdfast.redis.client.RedisPort;
import dev.holdfast.redis.client.Replies;
import dev.holdfast.redis.client.Script;
import dev.holdfast.redis.client.ServerCall;
import dev.holdfast.redis.client.ServerError;
import dev.holdfast.redis.config.RedisOptions;
import dev.holdfast.redis.record.ReplicaAcks.Outcome;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.NodeAttempt;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Released.Handed;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.spi.StoreTraits;
import dev.holdfast.spi.StoreTraits.Liveness;
import dev.holdfast.spi.StoreTraits.NodeRole;
import dev.holdfast.spi.StoreTraits.TokenSurvival;
import dev.holdfast.store.BlockingCalls;
import dev.holdfast.store.Bounds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The store of the default layout. Every transition is one script inside the server, which decides by the server's
 * own clock, so acquiring a free lock is one request and releasing it is another. The scripts do what
 * {@link dev.holdfast.store.ResourceRecord} does; {@code record.lua} describes its fields. Thread-safe.
 *
 * <h2>Overview for maintainers</h2>
 *
 * <p>Each store object has a channel of its own, and one subscription to it (on a cluster one for each slot in
 * which it waits). A waiter's record names the channel. A call that makes a waiter the owner publishes the grant on
 * that waiter's channel; grants to waiters on the caller's own channel are returned in the reply instead. So
 * nothing is published if no claim waits, or if only the caller's claims wait.
 */
public final class RecordLockStore implements LockStore {

    private static final int CONFIRMATIONS_AT_ONCE = 8;

    private final RedisPort port;
    private final RedisOptions options;
    private final StoreTraits traits;
    private final LockKeys keys;
    private final MonotonicClock clock;
    private final WaiterChannels channels;
    private final ScriptCalls calls;
    private final WaiterRegistry waiters;
    private final ReplicaAcks replicaAcks = new ReplicaAcks(this::undo);
    private final @Nullable BlockingCalls confirmations;

    public RecordLockStore(RedisPort port, RedisOptions options, MonotonicClock clock) {
        this.port = port;
        this.options = options;
        this.clock = clock;
        this.keys = new LockKeys(options.prefix());
        this.channels = new WaiterChannels(port, keys, ChannelSubscriber::new, this::slotsInUse);
        this.calls = new ScriptCalls(keys, options, port.isCluster(), channels);
        this.confirmations = options.replicas() == 0
                ? null
                : new BlockingCalls("holdfast-redis-confirm", CONFIRMATIONS_AT_ONCE, false);
        this.waiters = new WaiterRegistry(options.replicas() == 0 ? null : this::confirm);
        this.traits = new StoreTraits(
                        "redis",
                        true,
                        true,
                        // All keys of a script must be in one slot, and only the user knows whether the names share
                        // one.
                        !port.isCluster(),
                        TokenSurvival.DATA_LOSS,
                        Liveness.LEASE,
                        Duration.ofMillis(1),
                        Duration.ofMillis(ClaimArguments.millis(options.ticketTtl())),
                        port.callTimeout())
                .withNode(port.nodeRole());
    }

    private Set<Integer> slotsInUse() {
        return waiters.names().map(calls::slot).collect(Collectors.toSet());
    }

    @Override
    public StoreTraits traits() {
        return traits;
    }

    @Override
    public CompletionStage<Attempt> tryAcquire(Claim claim) {
        ServerCall call = calls.one(Script.ACQUIRE, claim);
        if (options.replicas() == 0) {
            return port.run(call, reply -> attempt(claim, reply).value());
        }
        if (replicaAcks.mayBeReleasedLate(claim)) {
            return CompletableFuture.completedStage(new Attempt.Busy(Duration.ZERO)); // as after any release
        }
        return port.run(call, reply -> ReplicaAcks.read(reply, bare -> attempt(claim, bare)))
                .thenCompose(answer -> replicaAcks.undoUnacknowledged(answer, List.of(claim)));
    }

    @Override
    public CompletionStage<NodeAttempt> tryAcquireAsNode(Claim claim, long counter, boolean raise) {
        if (traits.node() == NodeRole.NONE) {
            throw new UnsupportedOperationException(
                    "A cluster cannot be a node of a quorum: each of its slots fails over on its own");
        }
        if (replicaAcks.mayBeReleasedLate(claim)) {
            return CompletableFuture.failedStage(StoreException.unavailable(
                    Effect.NONE, "a release of " + claim.id() + " was not answered, and may end the next grant", null));
        }
        return port.run(
                        calls.asNode(claim, counter, raise),
                        reply -> ReplicaAcks.read(reply, bare -> nodeAttempt(claim, bare)))
                .thenCompose(answer -> replicaAcks.undoUnacknowledged(answer, List.of(claim)));
    }

    private Outcome<NodeAttempt> nodeAttempt(Claim claim, Object reply) {
        List<?> parts = Replies.list(reply);
        Outcome<Attempt> attempt = attempt(claim, parts.get(2));
        Duration age = ClaimArguments.micros(Replies.number(parts, 1));
        String server = Replies.text(parts, 3);
        return new Outcome<>(
                new NodeAttempt(
                        attempt.value(), Replies.number(parts, 0), age, server.isEmpty() ? null : "redis " + server),
                attempt.code());
    }

    private Outcome<Attempt> attempt(Claim claim, @Nullable Object reply) {
        ScriptReply read = ScriptReply.of(reply, claim);
        waiters.grantedAll(read.handed());
        return new Outcome<>(read.attempt(claim), read.code());
    }

    @Override
    public CompletionStage<List<Attempt>> tryAcquireAll(List<Claim> claims) {
        if (!traits.atomicSeveral()) {
            throw new UnsupportedOperationException(
                    "A cluster cannot take several names at once: they are in different slots");
        }
        List<Claim> several = Bounds.several(claims);
        if (several.stream().anyMatch(replicaAcks::mayBeReleasedLate)) {
            return CompletableFuture.completedStage(List.of(new Attempt.Busy(Duration.ZERO)));
        }
        ServerCall call = calls.several(Script.ACQUIRE_ALL, several);
        return port.run(call, reply -> ReplicaAcks.read(reply, bare -> attempts(several, bare)))
                .thenCompose(answer -> replicaAcks.undoUnacknowledged(answer, several));
    }

    private Outcome<List<Attempt>> attempts(List<Claim> several, Object reply) {
        List<?> parts = Replies.list(reply);
        waiters.grantedAll(ScriptReply.handed(Replies.list(parts.get(2)), 0));
        List<?> numbers = Replies.list(parts.get(1));
        int code = (int) Replies.number(parts, 0);
        if (code == ScriptReply.HELD || code == ScriptReply.GRANTED) {
            List<Attempt> attempts = new ArrayList<>(several.size());
            for (int i = 0; i < several.size(); i++) {
                Duration left = ClaimArguments.micros(Replies.number(numbers, 2 * i + 1));
                attempts.add(new Granted(Replies.number(numbers, 2 * i), left));
            }
            return new Outcome<>(attempts, code);
        }
        if (code == ScriptReply.BUSY) {
            Attempt busy = new Attempt.Busy(ClaimArguments.micros(Replies.number(numbers, 0)));
            return new Outcome<>(List.of(busy), code);
        }
        Claim refused = several.get((int) Replies.number(numbers, 0) - 1);
        long second = numbers.size() > 2 ? Replies.number(numbers, 2) : 0;
        ScriptReply refusal = new ScriptReply(code, Replies.number(numbers, 1), second, List.of());
        return new Outcome<>(List.of(refusal.attempt(refused)), code);
    }

    @Override
    public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
        WaiterRegistry.Waiter waiter = waiters.add(claim, listener);
        int slot = calls.slot(claim.name());
        if (replicaAcks.mayBeReleasedLate(claim)) {
            waiter.answered(new Renewed.Gone(Renewed.Reason.RELEASED));
        } else if (channels.isSubscribed(slot)) {
            enqueue(claim, waiter);
        } else if (claim.repeated()) {
            // It may be in the queue already.
            subscribeAndEnqueue(slot, claim, waiter);
        } else {
            tryAndEnqueue(slot, claim, waiter);
        }
        return waiter;
    }

    // Most locks are free, and only one that is busy is worth a subscription.
    private void tryAndEnqueue(int slot, Claim claim, WaiterRegistry.Waiter waiter) {
        long start = clock.nanoTime();
        CompletionStage<?> steps = tryAcquire(claim).thenAccept(attempt -> {
            if (attempt instanceof Granted granted) {
                waiter.answered(granted);
            } else if (clock.nanoTime() - start > options.timeout().toNanos()) {
                // The two requests that follow would take the call beyond its time limit.
                throw StoreException.unavailable(
                        Effect.NONE,
                        this + " is too slow: it took more than "
                                + options.timeout().toMillis() + " ms to answer that \"" + claim.name() + "\" is busy",
                        null);
            } else {
                subscribeAndEnqueue(slot, claim, waiter);
            }
        });
        failWith(steps, waiter);
    }

    private void subscribeAndEnqueue(int slot, Claim claim, WaiterRegistry.Waiter waiter) {
        failWith(channels.subscribe(slot).thenRun(() -> enqueue(claim, waiter)), waiter);
    }

    private void enqueue(Claim claim, WaiterRegistry.Waiter waiter) {
        CompletionStage<?> steps = port.run(
                        calls.one(Script.ENQUEUE, claim),
                        reply -> ReplicaAcks.read(reply, bare -> {
                            ScriptReply read = ScriptReply.of(bare, claim);
                            waiters.grantedAll(read.handed());
                            return new Outcome<>(renewed(claim, read), read.code());
                        }))
                .thenCompose(answer -> replicaAcks.undoUnacknowledged(answer, List.of(claim)))
                .thenAccept(waiter::answered);
        failWith(steps, waiter);
    }

    // Also what the steps after an answer throw, such as the next request before it is sent.
    private static void failWith(CompletionStage<?> steps, WaiterRegistry.Waiter waiter) {
        steps.whenComplete((done, failure) -> {
            if (failure != null) {
                waiter.failed(StoreException.of(failure));
            }
        });
    }

    @Override
    public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
        List<Claim> batch = Bounds.batch(claims);
        CompletionStage<List<Renewed>> answers = renew(batch, calls.renewals(batch));
        return port.isCluster() ? answers.thenCompose(first -> renewDivided(batch, first)) : answers;
    }

    private CompletionStage<List<Renewed>> renew(List<Claim> batch, List<ScriptCalls.Part> parts) {
        return port.runAll(
                parts.stream().map(ScriptCalls.Part::call).toList(), replies -> renewed(batch, parts, replies));
    }

    // While a slot is moved, some of its records are at one node and some at the other, and neither answers for all of
    // them. Each one of them can be found.
    private CompletionStage<List<Renewed>> renewDivided(List<Claim> batch, List<Renewed> answers) {
        List<Integer> divided = IntStream.range(0, batch.size())
                .filter(i -> answers.get(i) instanceof Renewed.Failed failed && ServerError.isDivided(failed.cause()))
                .boxed()
                .toList();
        if (divided.isEmpty()) {
            return CompletableFuture.completedFuture(answers);
        }
        List<Claim> again = divided.stream().map(batch::get).toList();
        return renew(again, calls.renewals(again, 1)).thenApply(second -> {
            List<Renewed> all = new ArrayList<>(answers);
            for (int i = 0; i < second.size(); i++) {
                all.set(divided.get(i), second.get(i));
            }
            return all;
        });
    }

    private List<Renewed> renewed(List<Claim> batch, List<ScriptCalls.Part> parts, List<Object> replies) {
        Renewed[] answers = new Renewed[batch.size()];
        List<Handed> handed = new ArrayList<>();
        for (int i = 0; i < replies.size(); i++) {
            List<Integer> part = parts.get(i).claims();
            if (replies.get(i) instanceof StoreException failure) {
                if (replies.size() == 1 && !ServerError.isDivided(failure)) {
                    throw failure;
                }
                for (int index : part) {
                    answers[index] = new Renewed.Failed(failure);
                }
            } else {
                List<Claim> asked = part.stream().map(batch::get).toList();
                List<Renewed> outcomes = renewed(asked, replies.get(i), handed);
                for (int j = 0; j < part.size(); j++) {
                    answers[part.get(j)] = outcomes.get(j);
                }
            }
        }
        waiters.grantedAll(handed);
        for (int i = 0; i < answers.length; i++) {
            waiters.renewed(batch.get(i).id(), answers[i]);
        }
        return List.of(answers);
    }

    /** Reads the reply to one call. The grants that it made to waiters are added to {@code handed}. */
    private List<Renewed> renewed(List<Claim> asked, Object reply, List<Handed> handed) {
        ReplicaAcks.Answer<List<?>> answer = ReplicaAcks.read(reply, Replies::list);
        handed.addAll(ScriptReply.handed(Replies.list(answer.value().get(1)), 0));
        List<?> numbers = Replies.list(answer.value().get(0));
        List<Renewed> answers = new ArrayList<>(asked.size());
        for (int i = 0; i < asked.size(); i++) {
            Renewed one = renewed(asked.get(i), numbers, 3 * i);
            String missing = answer.missing();
            answers.add(
                    missing != null && one instanceof Granted
                            ? new Renewed.Failed(ReplicaAcks.unknown(List.of(asked.get(i)), missing))
                            : one);
        }
        return answers;
    }

    private Renewed renewed(Claim claim, List<?> numbers, int at) {
        int code = (int) Replies.number(numbers, at);
        if (code == ScriptReply.UNREADABLE) {
            return new Renewed.Failed(
                    ServerError.returned(Replies.text(numbers, at + 1), ServerCall.subject(keys.key(claim.name()))));
        }
        return renewed(
                claim,
                new ScriptReply(code, Replies.number(numbers, at + 1), Replies.number(numbers, at + 2), List.of()));
    }

    private Renewed renewed(Claim claim, ScriptReply reply) {
        if (reply.code() == ScriptReply.UNREACHABLE) {
            // The subscription is at a server that is not the primary any more.
            channels.resubscribe(calls.slot(claim.name()));
        }
        return reply.renewed(claim);
    }

    // Confirms a pushed grant by a renewal of the same claim. If the replicas do not acknowledge it, the claim
    // keeps waiting, and its next refresh asks again. The grant itself lasts no longer than the pushed lease unless
    // a refresh renews it.
    private void confirm(Claim claim, Duration lease) {
        Claim brief = lease.compareTo(claim.lease()) < 0 ? claim.withLease(lease) : claim;
        BlockingCalls pool = Objects.requireNonNull(confirmations, "only a store with replicas confirms grants");
        pool.call(() -> port.run(calls.several(Script.RENEW, List.of(brief)), reply -> {
            List<Handed> handed = new ArrayList<>();
            Renewed answer = renewed(List.of(brief), reply, handed).get(0);
            waiters.grantedAll(handed);
            if (answer instanceof Granted) {
                waiters.renewed(claim.id(), answer);
            }
            return answer;
        }));
    }

    @Override
    public CompletionStage<Released> release(Claim claim) {
        return port.run(calls.release(claim), reply -> {
            waiters.ended(claim.id(), Renewed.Reason.RELEASED);
            return released(claim, reply);
        });
    }

    // Unlike release, this does not report an end to the listener: the listener gets the failure of the call.
    // And it leaves no tombstone, which would refuse the claim when the caller tries again; who gives up
    // after a lost reply leaves one.
    private CompletionStage<Released> undo(Claim claim) {
        return port.run(calls.undo(claim), reply -> released(claim, reply));
    }

    private Released released(Claim claim, Object reply) {
        if (reply instanceof Long) {
            return Released.ALONE;
        }
        ScriptReply read = ScriptReply.of(reply, claim);
        List<Handed> elsewhere = waiters.grantedAll(read.handed());
        boolean found = read.code() == 1;
        if (elsewhere.isEmpty()) {
            return found ? Released.ALONE : Released.NOT_OWNER;
        }
        return new Released(found, elsewhere);
    }

    @Override
    public CompletionStage<Optional<ResourceState>> inspect(LockName name) {
        return port.run(calls.inspect(name), reply -> {
            List<?> parts = Replies.list(reply);
            waiters.grantedAll(ScriptReply.handed(Replies.list(parts.get(5)), 0));
            return Optional.of(InspectReply.state(name, keys.key(name), parts)).filter(ResourceState::isInUse);
        });
    }

    @Override
    public CompletionStage<List<LockName>> list(String prefix, int limit) {
        Bounds.list(limit);
        return new KeyScan(port, Script.LIST, keys, prefix, limit, clock).run();
    }

    @Override
    public void close() {
        waiters.clear();
        channels.close();
        if (confirmations != null) {
            confirmations.close();
        }
        port.close();
    }

    @Override
    public String toString() {
        return "redis store " + port;
    }

    /** Receives what other clients' calls have changed about this store's waiters. */
    private final class ChannelSubscriber implements RedisPort.Subscriber {

        private final int slot;

        private ChannelSubscriber(int slot) {
            this.slot = slot;
        }

        @Override
        public void message(String text) {
            String[] words = text.split(" ", -1);
            try {
                if (words.length == 2 && words[0].equals("ended")) {
                    waiters.ended(ClaimId.parse(words[1]), Renewed.Reason.RELEASED);
                } else if (words.length == 4 && words[0].equals("granted")) {
                    Duration lease = Duration.ofMillis(Long.parseLong(words[3]));
                    waiters.granted(ClaimId.parse(words[1]), new Granted(Long.parseLong(words[2]), lease));
                }
            } catch (IllegalArgumentException notOurs) {
                // A foreign message on our channel must not end the subscription.
                return;
            }
        }

        @Override
        public void resubscribed() {
            List<Claim> queued = waiters.queued().stream()
                    .filter(claim -> calls.slot(claim.name()) == slot)
                    .toList();
            for (int from = 0; from < queued.size(); from += MAX_BATCH) {
                // A claim whose refresh fails now is refreshed again when its next refresh is due.
                renew(queued.subList(from, Math.min(queued.size(), from + MAX_BATCH)));
            }
        }
    }
}
