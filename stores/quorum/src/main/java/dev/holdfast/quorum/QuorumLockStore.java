package dev.holdfast.quorum;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.KindConflictException;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.NodeAttempt;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.spi.StoreTraits;
import dev.holdfast.spi.StoreTraits.Kinds;
import dev.holdfast.spi.StoreTraits.Liveness;
import dev.holdfast.spi.StoreTraits.TokenSurvival;
import dev.holdfast.store.Bounds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import org.jspecify.annotations.Nullable;

/**
 * One store made of an odd number of independent ones: a claim holds while a majority of them has granted it (the Redlock
 * algorithm). A minority may be down, cut off, or have lost its data. Thread-safe.
 *
 * <p>Exclusive and read-write locks are carried: of two claims that exclude each other, some node sees both. Semaphores are
 * refused, because that does not hold for them: of two permits, three claims could each have one at another majority of three
 * nodes.
 *
 * <p>Tokens are as sound as those of one node. The token is the largest counter of a majority, and a majority has a counter
 * that is at least as large before the token is handed out, so that the next exclusive grant meets it.
 *
 * <p>A node that may have lost data ({@link NodeAttempt#age}) is not counted until {@link QuorumOptions#maxLease} has passed.
 */
public final class QuorumLockStore implements LockStore {

    /** Opening, raising of counters, and release of a failed attempt are one time limit each; one more for slow threads. */
    private static final int TIMES = 4;

    /** The name by which nodes are asked whether they answer. It is claimed as a read lock, so that all clients may. */
    private static final LockName CHECK = new LockName("holdfast-quorum-check");

    /** Runs tasks after a delay in real time. */
    static final Function<Duration, Executor> TIMER =
            delay -> CompletableFuture.delayedExecutor(delay.toNanos(), TimeUnit.NANOSECONDS, Runnable::run);

    private final Nodes nodes;
    private final QuorumOptions options;
    private final MonotonicClock clock;
    private final StoreTraits traits;
    private final ClaimTable table;
    private final Inspection inspection;
    private volatile boolean closed;

    private QuorumLockStore(
            List<LockStore> stores, QuorumOptions options, MonotonicClock clock, Function<Duration, Executor> later) {
        this.options = options;
        this.clock = clock;
        this.traits = traits(stores, options);
        NodeServers servers = new NodeServers();
        List<Node> made = new ArrayList<>();
        for (LockStore store : stores) {
            made.add(new Node(made.size(), store, servers, options, clock, later));
        }
        this.nodes = new Nodes(made);
        this.table = new ClaimTable(nodes, clock, options.quarantine());
        this.inspection = new Inspection(nodes, table, options.nodeTimeout(), traits.callTimeout(), clock, later);
    }

    /**
     * Makes one store of several independent ones, and asks each node whether it answers. The stores are closed with it.
     *
     * @param stores 3, 5 or another odd number of stores, each on a server of its own, which can be nodes
     *     ({@link StoreTraits#node()})
     * @throws IllegalArgumentException if their number is even or out of its range, one of them cannot be a node, or two of them
     *     are in the same server; the stores are closed in the last case
     * @throws StoreException if no majority of them answers, or one of them answers that it refuses to vote; the stores are
     *     closed then
     */
    public static QuorumLockStore over(List<LockStore> stores, QuorumOptions options) {
        return over(stores, options, MonotonicClock.SYSTEM, TIMER);
    }

    /** As the other method; the clock and the timer are the caller's. */
    static QuorumLockStore over(
            List<LockStore> stores, QuorumOptions options, MonotonicClock clock, Function<Duration, Executor> later) {
        checkCount(stores.size());
        RefusedNodes.check(stores);
        QuorumLockStore quorum = new QuorumLockStore(List.copyOf(stores), options, clock, later);
        quorum.check();
        return quorum;
    }

    /** The fewest nodes: of two, none may fail. */
    public static final int MIN_NODES = 3;

    /** The most nodes. Each of them is asked by each acquisition. */
    public static final int MAX_NODES = 15;

    static void checkCount(int count) {
        if (count < MIN_NODES || count > MAX_NODES || count % 2 == 0) {
            throw new IllegalArgumentException("A quorum has 3, 5 or another odd number of nodes up to " + MAX_NODES
                    + ", but was given " + count
                    + (count % 2 == 0 ? ": an even number survives no more failures than one less" : ""));
        }
    }

    private static StoreTraits traits(List<LockStore> stores, QuorumOptions options) {
        TokenSurvival tokens = stores.stream()
                .map(store -> store.traits().tokens())
                .min(Comparator.naturalOrder())
                .orElseThrow();
        Duration step = stores.stream()
                .map(store -> store.traits().leaseStep())
                .max(Comparator.naturalOrder())
                .orElseThrow();
        Kinds kinds = stores.stream()
                .map(store -> store.traits().kinds())
                .min(Comparator.naturalOrder())
                .orElseThrow();
        return new StoreTraits(
                        "quorum",
                        false,
                        false,
                        false,
                        tokens,
                        Liveness.LEASE,
                        step,
                        Duration.ZERO,
                        options.nodeTimeout().multipliedBy(TIMES))
                .withKinds(kinds == Kinds.ALL ? Kinds.READ_WRITE : kinds);
    }

    // Also shows which data the nodes have, so that those of new ones can be counted.
    private void check() {
        Claim claim = new Claim(
                CHECK,
                new ClaimId(UUID.randomUUID().toString(), 0),
                1,
                Claim.ALL,
                Claim.MIN_LEASE,
                OwnerInfo.of("quorum"));
        AtomicInteger open = new AtomicInteger(nodes.size());
        AtomicInteger answered = new AtomicInteger();
        List<String> failures = Collections.synchronizedList(new ArrayList<>());
        Queue<StoreException> refusals = new ConcurrentLinkedQueue<>();
        Queue<String> twins = new ConcurrentLinkedQueue<>();
        CompletableFuture<Void> done = new CompletableFuture<>();
        Runnable end = () -> {
            if (open.decrementAndGet() == 0) {
                done.complete(null);
            }
        };
        for (Node node : nodes) {
            node.acquire(claim, clock.epochMicros(), false, options.nodeTimeout(), new OneEnd<NodeAttempt>(end) {
                @Override
                void in(NodeAttempt attempt) {
                    node.seenAtTheStart(attempt);
                    answered.incrementAndGet();
                    Node twin = node.twin(attempt);
                    if (twin != null) {
                        twins.add(twin + " and " + node);
                    }
                }

                @Override
                void out(@Nullable StoreException cause) {
                    failures.add(node + ": " + (cause == null ? "no answer in time" : cause.getMessage()));
                    if (cause != null && isRefusal(cause)) {
                        refusals.add(StoreException.refused(
                                "Node " + node + " of the quorum refuses to vote: " + cause.getMessage(), cause));
                    }
                }
            });
        }
        done.join();
        // It would refuse every vote. The others may be a majority, but then one failure less is survived than the user
        // believes.
        StoreException refusal = refusals.peek();
        if (refusal != null) {
            close();
            throw refusal;
        }
        if (!twins.isEmpty()) {
            close();
            throw new IllegalArgumentException("Each node of a quorum must be a server of its own, but " + twins.peek()
                    + " are in the same server: if that fails, both do. Replace one of them by another server");
        }
        if (answered.get() < nodes.majority()) {
            close();
            throw StoreException.unavailable(
                    Effect.NONE,
                    "No majority of the " + nodes.size() + " nodes of the quorum answers: " + failures,
                    null);
        }
        for (Node node : nodes) {
            node.release(claim, Ignored.reply());
        }
    }

    // A claim of another kind under this name, which a user may have made, ends some time.
    private static boolean isRefusal(StoreException cause) {
        return !cause.retryable() && !(cause instanceof KindConflictException);
    }

    @Override
    public StoreTraits traits() {
        return traits;
    }

    @Override
    public CompletionStage<Attempt> tryAcquire(Claim claim) {
        StoreException refusal = refusal(claim);
        return refusal != null ? CompletableFuture.failedStage(refusal) : table.acquire(claim);
    }

    private @Nullable StoreException refusal(Claim claim) {
        if (closed) {
            return closedAlready();
        }
        if (!traits.kinds().serves(claim.limit())) {
            return StoreException.refused(
                    "A quorum cannot carry \"" + claim.name() + "\" as a semaphore of " + claim.limit()
                            + ": more claims than that could each have a majority of the nodes. Use one server for it,"
                            + " or exclusive and read-write locks",
                    null);
        }
        return isTooLong(claim) ? tooLong(claim) : null;
    }

    private boolean isTooLong(Claim claim) {
        return claim.lease().compareTo(options.maxLease()) > 0;
    }

    private StoreException tooLong(Claim claim) {
        return StoreException.refused(
                "The lease of \"" + claim.name() + "\" is " + claim.lease() + ", but this quorum's option maxLease is "
                        + options.maxLease() + ": shorten the lease (that of a ShedLock job is its lockAtMostFor and a"
                        + " hundredth of it), or set maxLease to the same value in all clients, such as #maxLease="
                        + claim.lease().plusMillis(999).toSeconds() + "s at the end of the URL",
                null);
    }

    private StoreException closedAlready() {
        return StoreException.unavailable(Effect.NONE, this + " is closed", null);
    }

    @Override
    public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
        if (closed) {
            return CompletableFuture.failedStage(closedAlready());
        }
        List<Claim> batch = Bounds.batch(claims);
        List<Claim> sent = batch.stream().filter(claim -> !isTooLong(claim)).toList();
        return renewAll(sent)
                .thenApply(renewed -> sent.size() == batch.size() ? renewed : withRefusals(batch, renewed));
    }

    // Claims whose leases are so short that a slow node could use them up are renewed apart from the others,
    // which have the time to wait for it.
    private CompletionStage<List<Renewed>> renewAll(List<Claim> batch) {
        Map<Duration, List<Claim>> apart = new LinkedHashMap<>();
        for (Claim claim : batch) {
            Duration half = claim.lease().dividedBy(2);
            Duration useful = half.compareTo(options.nodeTimeout()) < 0 ? half : options.nodeTimeout();
            apart.computeIfAbsent(useful, unused -> new ArrayList<>()).add(claim);
        }
        if (apart.size() == 1) {
            return renewAll(apart.keySet().iterator().next(), batch);
        }
        Map<ClaimId, Renewed> answers = new ConcurrentHashMap<>();
        List<CompletableFuture<Void>> renewals = new ArrayList<>();
        apart.forEach((useful, claims) -> renewals.add(renewAll(useful, claims)
                .thenAccept(renewed -> {
                    for (int i = 0; i < renewed.size(); i++) {
                        answers.put(claims.get(i).id(), renewed.get(i));
                    }
                })
                .toCompletableFuture()));
        return CompletableFuture.allOf(renewals.toArray(CompletableFuture[]::new))
                .thenApply(done ->
                        batch.stream().map(claim -> answers.get(claim.id())).toList());
    }

    private CompletionStage<List<Renewed>> renewAll(Duration useful, List<Claim> claims) {
        return new Renewal(nodes, table, clock, useful, claims).run();
    }

    // Also a renewal must not outlast the time for which a node that lost its data is not counted.
    private List<Renewed> withRefusals(List<Claim> batch, List<Renewed> renewed) {
        Iterator<Renewed> next = renewed.iterator();
        return batch.stream()
                .map(claim -> isTooLong(claim) ? new Renewed.Failed(tooLong(claim)) : next.next())
                .toList();
    }

    @Override
    public CompletionStage<Released> release(Claim claim) {
        if (closed) {
            return CompletableFuture.failedStage(closedAlready());
        }
        return new Release(nodes, table, clock, claim).run();
    }

    @Override
    public ListenerRegistration watch(LockName name, Runnable mayBeFree) {
        List<ListenerRegistration> watches = new ArrayList<>();
        for (Node node : nodes) {
            try {
                watches.add(node.store().watch(name, mayBeFree));
            } catch (RuntimeException noHints) {
                // Those of the others are as good, and what they have registered must be closed some day.
            }
        }
        return watches.stream().allMatch(watch -> watch == ListenerRegistration.NONE)
                ? ListenerRegistration.NONE
                : () -> watches.forEach(ListenerRegistration::close);
    }

    @Override
    public CompletionStage<Optional<ResourceState>> inspect(LockName name) {
        if (closed) {
            return CompletableFuture.failedStage(closedAlready());
        }
        return inspection.inspect(name);
    }

    @Override
    public CompletionStage<List<LockName>> list(String prefix, int limit) {
        Bounds.list(limit);
        if (closed) {
            return CompletableFuture.failedStage(closedAlready());
        }
        return inspection.list(prefix, limit);
    }

    /** How many claims are remembered, and releases are owed to nodes: for tests of what is left. */
    int remembered() {
        int owed = 0;
        for (Node node : nodes) {
            owed += node.owed().size();
        }
        return table.sweep() + owed;
    }

    @Override
    public void close() {
        closed = true;
        nodes.awaitAnswers(options.nodeTimeout());
        nodes.close();
    }

    @Override
    public String toString() {
        return "quorum of "
                + StreamSupport.stream(nodes.spliterator(), false)
                        .map(Node::toString)
                        .collect(Collectors.joining(", "));
    }
}
