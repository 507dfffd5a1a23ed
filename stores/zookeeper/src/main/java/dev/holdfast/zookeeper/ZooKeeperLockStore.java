package dev.holdfast.zookeeper;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreTraits;
import dev.holdfast.spi.StoreTraits.Liveness;
import dev.holdfast.spi.StoreTraits.TokenSurvival;
import dev.holdfast.store.Bounds;
import dev.holdfast.store.TimeLimit;
import dev.holdfast.zookeeper.claim.ClaimState;
import dev.holdfast.zookeeper.claim.ClaimTable;
import dev.holdfast.zookeeper.claim.LeaseExpiry;
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
import java.util.function.Supplier;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.data.ACL;

/**
 * A store in a ZooKeeper ensemble. A claim is an ephemeral sequential node in the folder of its lock: acquiring a free lock is
 * one round trip (the creation and the list of the folder, sent back to back), and so are an attempt at several free locks, a
 * release, and a renewal of all claims. The names of the nodes are those of Curator's recipes, so that {@code InterProcessMutex} and {@code
 * InterProcessReadWriteLock} on the same path queue with the clients of this store.
 *
 * <p>Opened by URL with {@link ZooKeeperLockStoreProvider}, or over a client of the user's with {@link
 * #over(CuratorFramework)}. Thread-safe.
 *
 * <h2>Sessions and leases</h2>
 *
 * What this client holds ends with its session. The server knows no shorter life, so the client itself ends a grant whose lease
 * is over. A grant is told to live for no longer than the session surely does, which is two fifths of its time-out; the engine
 * renews it before. A lease that is not renewed therefore lasts that long at most: choose a session time-out of two and a
 * half times the longest lease that is to last without renewal.
 *
 * <p>{@link #close} of a store that was opened by URL closes its session, which ends all that it still holds. A store over the
 * user's client leaves the session alone, and with it what is held.
 *
 * <h2>Overview for maintainers</h2>
 *
 * <p>{@link AdmissionQueue} is the whole law of admission: a pure function of the names in a folder. {@link Acquire}, {@link
 * AcquireAll}, {@link PredecessorWatch}, {@link Renew} and {@link Release} are the verbs; {@link ClaimState} is what is known of
 * one claim, {@link OrphanCleaner} what must be removed yet, {@link LeaseExpiry} the leases. All requests are asynchronous and go
 * through {@link SessionClient}; their answers come on the client's event thread, so nothing here blocks, and listeners are told
 * there.
 */
public final class ZooKeeperLockStore implements LockStore {

    private final StoreContext site;
    private final TimeLimit timeLimit;
    private final StoreTraits traits;
    private final Acquire acquiring;
    private final AcquireAll acquiringAll;
    private final Renew renewing;
    private final Release releasing;
    private final Inspect views;

    private ZooKeeperLockStore(
            Sessions sessions, ZnodePaths paths, List<ACL> acl, Duration timeout, MonotonicClock clock) {
        Timer timer = new Timer();
        ClaimTable places = new ClaimTable(clock);
        OrphanCleaner leftovers = new OrphanCleaner(sessions, clock, timer);
        LeaseExpiry leases = new LeaseExpiry(places, sessions, leftovers, clock, timer);
        this.site = new StoreContext(sessions, paths, acl, clock, places, leftovers, leases, timer);
        this.timeLimit = new TimeLimit(timeout);
        Duration ticket = Sessions.sure(sessions.timeout());
        PredecessorWatch waiting = new PredecessorWatch(site);
        ParentNodes folders = new ParentNodes(site);
        this.acquiring = new Acquire(site, waiting, folders);
        this.acquiringAll = new AcquireAll(site, acquiring, folders);
        this.renewing = new Renew(site, waiting);
        this.releasing = new Release(site);
        this.views = new Inspect(site, ticket);
        this.traits = new StoreTraits(
                "zookeeper",
                true,
                true,
                true,
                TokenSurvival.RESTART,
                Liveness.SESSION,
                Duration.ofMillis(1),
                ticket,
                timeout.multipliedBy(2));
    }

    /** A store over a client of the user's, with the default options. See {@link #over(CuratorFramework, String)}. */
    public static ZooKeeperLockStore over(CuratorFramework client) {
        return over(client, "");
    }

    /**
     * A store over a client of the user's, which must be started, and is never closed by the store. The store works on the
     * client's session and below its namespace.
     *
     * @param options {@code root=/locks&timeout=5s&acl=open}, as in a URL: the folder above all locks, {@code /holdfast} unless
     *     said; how long a call may take; {@code open} or {@code creator} for the rights on what is made
     * @throws IllegalArgumentException if an option is wrong
     * @throws StoreException if the client has no connection within {@code timeout}
     */
    public static ZooKeeperLockStore over(CuratorFramework client, String options) {
        ZooKeeperOptions parsed = ZooKeeperOptions.ofClient(options);
        String namespace = client.getNamespace();
        String above = namespace == null || namespace.isEmpty() ? "" : "/" + namespace;
        String root = parsed.root().equals("/") && !above.isEmpty() ? above : above + parsed.root();
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
            // Shows that the server lets us in; a missing root is made with the first lock.
            store.inspect(new LockName("holdfast")).toCompletableFuture().join();
            ready = true;
            return store;
        } catch (CompletionException failure) {
            throw ZooKeeperErrors.of(failure, paths.root());
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
        return call(claim.name().value(), () -> acquiring.acquire(claim, null).thenApply(ZooKeeperLockStore::attempt));
    }

    // Nobody waits, so a claim that would have to has left nothing.
    private static Attempt attempt(Renewed answer) {
        return answer instanceof Renewed.Held held
                ? new Attempt.Granted(held.counter(), held.lease())
                : new Attempt.Busy(Duration.ZERO);
    }

    @Override
    public CompletionStage<List<Attempt>> tryAcquireAll(List<Claim> claims) {
        List<Claim> several = Bounds.several(claims);
        return call(several.get(0).name() + " and others", () -> acquiringAll.acquire(several));
    }

    @Override
    public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
        OneShotListener ear = new OneShotListener(listener);
        call(claim.name().value(), () -> acquiring.acquire(claim, ear)).whenComplete((answer, failure) -> {
            if (failure != null) {
                ear.failed(ZooKeeperErrors.of(failure, claim.name().value()));
            } else if (answer instanceof Renewed.Held held) {
                ear.granted(held.counter(), held.lease());
            } else if (answer instanceof Renewed.Waiting waiting) {
                ear.waiting(waiting.position());
            } else if (answer instanceof Renewed.Gone gone) {
                ear.ended(gone.reason());
            }
        });
        return ear;
    }

    @Override
    public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
        List<Claim> batch = Bounds.batch(claims);
        return call("a renewal", () -> renewing.renew(batch));
    }

    @Override
    public CompletionStage<Released> release(Claim claim) {
        return call(claim.name().value(), () -> releasing.release(claim));
    }

    @Override
    public CompletionStage<Optional<ResourceState>> inspect(LockName name) {
        return call(name.value(), () -> views.inspect(name));
    }

    @Override
    public CompletionStage<List<LockName>> list(String prefix, int limit) {
        Bounds.list(limit);
        return call("a list", () -> views.list(prefix, limit));
    }

    @Override
    public void close() {
        site.places().clear();
        site.timer().close();
        site.sessions().close();
    }

    // A stage that ends in time, and fails with a StoreException only.
    private <T> CompletionStage<T> call(String subject, Supplier<CompletionStage<T>> verb) {
        CompletableFuture<T> result = new CompletableFuture<>();
        CompletionStage<T> answer;
        try {
            answer = verb.get();
        } catch (RuntimeException failure) {
            result.completeExceptionally(ZooKeeperErrors.of(failure, subject));
            return result;
        }
        timeLimit.on(answer.toCompletableFuture().copy()).whenComplete((value, failure) -> {
            if (failure == null) {
                result.complete(value);
            } else {
                result.completeExceptionally(ZooKeeperErrors.of(failure, subject));
            }
        });
        return result;
    }

    @Override
    public String toString() {
        return "zookeeper store " + site.sessions() + site.paths().root();
    }
}
