package dev.holdfast.zookeeper;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.LossListener;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreTraits;
import dev.holdfast.spi.StoreTraits.Liveness;
import dev.holdfast.spi.StoreTraits.TokenSurvival;
import dev.holdfast.store.Bounds;
import dev.holdfast.store.LossListeners;
import dev.holdfast.store.TimeLimit;
import dev.holdfast.zookeeper.claim.ClaimState;
import dev.holdfast.zookeeper.claim.ClaimTable;
import dev.holdfast.zookeeper.claim.LeaseExpiry;
import dev.holdfast.zookeeper.claim.NodeWatches;
import dev.holdfast.zookeeper.claim.OneShotListener;
import dev.holdfast.zookeeper.claim.OrphanCleaner;
import dev.holdfast.zookeeper.config.ZooKeeperOptions;
import dev.holdfast.zookeeper.node.AdmissionQueue;
import dev.holdfast.zookeeper.node.ZnodePaths;
import dev.holdfast.zookeeper.op.Acquire;
import dev.holdfast.zookeeper.op.AcquireAll;
import dev.holdfast.zookeeper.op.Inspect;
import dev.holdfast.zookeeper.op.ParentNodes;
import dev.holdfast.zookeeper.op.PredecessorWatch;
import dev.holdfast.zookeeper.op.QueueLists;
import dev.holdfast.zookeeper.op.Release;
import dev.holdfast.zookeeper.op.Renew;
import dev.holdfast.zookeeper.op.StoreContext;
import dev.holdfast.zookeeper.session.SessionClient;
import dev.holdfast.zookeeper.session.Sessions;
import dev.holdfast.zookeeper.session.Timer;
import dev.holdfast.zookeeper.session.ZooKeeperErrors;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.data.ACL;

/**
 * A store in a ZooKeeper ensemble. A claim is an ephemeral sequential node below the parent node of its lock.
 * Acquiring a free lock takes one round trip: the create and the list of the children are sent back to
 * back, or the create also counts the children. An attempt at several free locks, a release, and a renewal of all
 * claims take one round trip each. The nodes are named as Curator's recipes name theirs, so that
 * {@code InterProcessMutex} and {@code InterProcessReadWriteLock} on the same path queue with the clients of this store.
 *
 * <p>A store is opened by URL with {@link ZooKeeperLockStoreProvider}, or over the user's own client with
 * {@link #over(CuratorFramework)}. Thread-safe.
 *
 * <h2>Sessions and leases</h2>
 *
 * All grants of this client end with its session. The server knows no shorter lifetime than that of the session, so
 * the client itself ends a grant whose lease has expired. The lease that is reported for a grant is never longer
 * than the session is guaranteed to live, which is two fifths of its time-out; the engine renews it before. A lease
 * that is not renewed therefore lasts that long at most: choose a session time-out of two and a half times the
 * longest lease that must last without renewal.
 *
 * <p>{@link #close} of a store that was opened by URL closes its session, which ends all grants that it still has.
 * A store over the user's client does not close the session: its waiters leave the queues, and its grants end with their leases.
 *
 * <h2>Overview for maintainers</h2>
 *
 * <p>{@link AdmissionQueue} decides alone which claims are admitted; it is a pure function of the names of a lock's
 * nodes. {@link Acquire}, {@link AcquireAll}, {@link PredecessorWatch}, {@link Renew} and {@link Release} are the
 * operations. {@link ClaimState} is what the client knows of one claim, {@link OrphanCleaner} deletes nodes that
 * belong to no live claim, and {@link LeaseExpiry} ends expired leases. All requests are asynchronous and go
 * through {@link SessionClient}. Their replies arrive on the client's event thread, and listeners are called there,
 * so nothing here may block.
 */
public final class ZooKeeperLockStore implements LockStore {

    /** How often the first request is repeated at most. */
    private static final int CHECK_REPEATS = 3;

    /** How often a closed store looks whether anything of it is left in a session that lives on. */
    private static final Duration LOOK_WHAT_IS_LEFT = Duration.ofSeconds(1);

    private final StoreContext context;
    private final LossListeners losses;
    private final TimeLimit timeLimit;
    private final StoreTraits traits;
    private final Acquire acquire;
    private final AcquireAll acquireAll;
    private final Renew renew;
    private final Release release;
    private final Inspect inspect;

    private ZooKeeperLockStore(
            Sessions sessions, ZnodePaths paths, List<ACL> acl, Duration timeout, MonotonicClock clock) {
        Timer timer = new Timer();
        NodeWatches watches = new NodeWatches();
        ClaimTable claims = new ClaimTable(clock, watches);
        OrphanCleaner orphans = new OrphanCleaner(sessions, clock, timer);
        LeaseExpiry leaseExpiry = new LeaseExpiry(claims, sessions, orphans, clock, timer);
        this.losses = new LossListeners();
        this.context =
                new StoreContext(sessions, paths, acl, clock, claims, watches, losses, orphans, leaseExpiry, timer);
        this.timeLimit = new TimeLimit(timeout);
        Duration ticketTtl = Sessions.guaranteedLifetime(sessions.timeout());
        ParentNodes parentNodes = new ParentNodes(context);
        QueueLists queueLists = new QueueLists(parentNodes);
        PredecessorWatch predecessorWatch = new PredecessorWatch(context, queueLists);
        this.acquire = new Acquire(context, predecessorWatch, parentNodes, queueLists);
        this.acquireAll = new AcquireAll(context, acquire, parentNodes);
        this.renew = new Renew(context, predecessorWatch);
        this.release = new Release(context, queueLists);
        this.inspect = new Inspect(context, ticketTtl);
        this.traits = new StoreTraits(
                "zookeeper",
                true,
                true,
                true,
                TokenSurvival.RESTART,
                Liveness.SESSION,
                Duration.ofMillis(1),
                ticketTtl,
                timeout.multipliedBy(2));
    }

    /** A store over the user's own client, with the default options. See {@link #over(CuratorFramework, String)}. */
    public static ZooKeeperLockStore over(CuratorFramework client) {
        return over(client, "");
    }

    /**
     * A store over the user's own client. The client must be started, and the store never closes it. The store uses
     * the client's session, and all its paths are below the client's namespace.
     *
     * @param options {@code root=/locks&timeout=5s&acl=open}, as in a URL: the root node of all locks, by default
     *     {@code /holdfast}; how long a call may take; {@code open} or {@code creator} for the rights on created
     *     nodes
     * @throws IllegalArgumentException if an option is wrong
     * @throws StoreException if the client has no connection within {@code timeout}
     */
    public static ZooKeeperLockStore over(CuratorFramework client, String options) {
        ZooKeeperOptions parsed = ZooKeeperOptions.ofClient(options);
        String namespace = client.getNamespace();
        String prefix = namespace == null || namespace.isEmpty() ? "" : "/" + namespace;
        String root = parsed.root().equals("/") && !prefix.isEmpty() ? prefix : prefix + parsed.root();
        return opened(client, false, new ZnodePaths(root), parsed.acl(false), parsed.timeout(), MonotonicClock.SYSTEM);
    }

    static ZooKeeperLockStore opened(
            CuratorFramework client,
            boolean owned,
            ZnodePaths paths,
            List<ACL> acl,
            Duration timeout,
            MonotonicClock clock) {
        Sessions sessions = new Sessions(client, owned, timeout);
        ZooKeeperLockStore store = new ZooKeeperLockStore(sessions, paths, acl, timeout, clock);
        boolean ready = false;
        try {
            check(store, sessions, paths.root(), timeout);
            ready = true;
            return store;
        } finally {
            if (!ready) {
                store.close();
            }
        }
    }

    // Whether the server accepts this client. A missing root is no error, as the first lock creates it. A
    // connection that has just been made may break, and its session may end, on a machine that stands still
    // meanwhile; the client makes another one. All of this takes no longer than one call may.
    private static void check(ZooKeeperLockStore store, Sessions sessions, String root, Duration timeout) {
        long deadline = System.nanoTime() + timeout.toNanos();
        for (int repeats = 0; ; repeats++) {
            try {
                store.inspect(new LockName("holdfast"))
                        .toCompletableFuture()
                        .orTimeout(deadline - System.nanoTime(), TimeUnit.NANOSECONDS)
                        .join();
                return;
            } catch (CompletionException failure) {
                StoreException cause = ZooKeeperErrors.of(failure, root);
                // A failure without a code is a server that has not answered for as long as opening may take.
                boolean inTime = cause.getCause() instanceof KeeperException;
                Duration left = Duration.ofNanos(deadline - System.nanoTime());
                if (!inTime || !cause.retryable() || repeats == CHECK_REPEATS || !sessions.awaitConnectedAgain(left)) {
                    throw cause;
                }
            }
        }
    }

    @Override
    public StoreTraits traits() {
        return traits;
    }

    @Override
    public CompletionStage<Attempt> tryAcquire(Claim claim) {
        return call(
                claim.name().value(),
                call -> acquire.acquire(claim, null)
                        .thenApply(ZooKeeperLockStore::attempt)
                        .whenComplete(call));
    }

    // Without a listener, a claim that would have to wait has left no node.
    private static Attempt attempt(Renewed answer) {
        return answer instanceof Granted held ? held : new Attempt.Busy(Duration.ZERO);
    }

    @Override
    public CompletionStage<List<Attempt>> tryAcquireAll(List<Claim> claims) {
        List<Claim> several = Bounds.several(claims);
        return call(
                several.get(0).name() + " and others",
                call -> acquireAll.acquire(several).whenComplete(call));
    }

    @Override
    public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
        OneShotListener oneShot = new OneShotListener(listener);
        new LimitedCall<Renewed>(claim.name().value()) {
            @Override
            void answered(Renewed answer) {
                if (answer instanceof Granted held) {
                    oneShot.granted(held);
                } else if (answer instanceof Renewed.Waiting waiting) {
                    oneShot.waiting(waiting.position());
                } else if (answer instanceof Renewed.Gone gone) {
                    oneShot.ended(gone.reason());
                }
            }

            @Override
            void failed(StoreException cause) {
                oneShot.failed(cause);
            }
        }.begin(timeLimit, call -> acquire.acquire(claim, oneShot, call));
        return oneShot;
    }

    @Override
    public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
        List<Claim> batch = Bounds.batch(claims);
        return call("a renewal", call -> renew.renew(batch).whenComplete(call));
    }

    @Override
    public CompletionStage<Released> release(Claim claim) {
        return call(claim.name().value(), call -> release.release(claim, call));
    }

    @Override
    public ListenerRegistration watchLosses(LossListener listener) {
        return losses.add(listener);
    }

    @Override
    public CompletionStage<Optional<ResourceState>> inspect(LockName name) {
        return inspect(name, Integer.MAX_VALUE);
    }

    @Override
    public CompletionStage<Optional<ResourceState>> inspect(LockName name, int waiters) {
        return call(name.value(), call -> inspect.inspect(name, waiters).whenComplete(call));
    }

    @Override
    public CompletionStage<List<LockName>> list(String prefix, int limit) {
        Bounds.list(limit);
        return call("a list", call -> inspect.list(prefix, limit).whenComplete(call));
    }

    // The nodes of the store's own client end with its session. That of a user's client lives on, and with it each node
    // that nobody deletes: what waits, and what holds when its lease is over.
    @Override
    public void close() {
        if (context.sessions().outlivesStore()) {
            context.sessions().refuseCalls();
        }
        endWhenNothingIsLeft();
    }

    // Each time what waits ends: a request that was under way at the close may have come to wait since.
    private void endWhenNothingIsLeft() {
        if (context.sessions().outlivesStore()) {
            context.leaseExpiry().endWaiting();
            if (context.claims().count() > 0 || !context.orphans().isIdle()) {
                context.timer().after(LOOK_WHAT_IS_LEFT, this::endWhenNothingIsLeft);
                return;
            }
        }
        context.claims().clear();
        context.timer().close();
        context.sessions().close();
    }

    // The returned stage completes within the time limit, and fails only with a StoreException.
    private <T> CompletionStage<T> call(String subject, Consumer<LimitedCall<T>> operation) {
        CompletableFuture<T> result = new CompletableFuture<>();
        new LimitedCall<T>(subject) {
            @Override
            void answered(T answer) {
                result.complete(answer);
            }

            @Override
            void failed(StoreException cause) {
                result.completeExceptionally(cause);
            }
        }.begin(timeLimit, operation);
        return result;
    }

    @Override
    public String toString() {
        return "zookeeper store " + context.sessions() + context.paths().root();
    }
}
