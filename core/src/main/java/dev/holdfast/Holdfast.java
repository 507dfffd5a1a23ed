package dev.holdfast;

import dev.holdfast.election.Election;
import dev.holdfast.election.ElectionOptions;
import dev.holdfast.internal.Engine;
import dev.holdfast.internal.election.LeaderElection;
import dev.holdfast.internal.lock.LeaseSemaphore;
import dev.holdfast.internal.lock.MultiLock;
import dev.holdfast.internal.lock.ReadWriteLockPair;
import dev.holdfast.internal.lock.ReentrantDistributedLock;
import dev.holdfast.internal.time.Simulator;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreTraits;
import dev.holdfast.store.Providers;
import dev.holdfast.store.StoreUrl;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * A client of a lock store, and the entry point of the API. A program needs one client for as long as it runs.
 *
 * <pre>{@code
 * try (Holdfast locks = Holdfast.connect("sqlite:/var/lib/shop/locks.db")) {
 *     DistributedLock lock = locks.lock("order:42");
 *     lock.lock();
 *     try {
 *         ...
 *     } finally {
 *         lock.unlock();
 *     }
 *
 *     try (Lease lease = lock.acquire(Duration.ofSeconds(5))) {
 *         lease.onLost(reason -> cancelTheWork());
 *         stock.update(..., lease.token());
 *     }
 * }
 * }</pre>
 *
 * <p>Thread-safe. Locks that two clients make, in one process or in several, exclude each other if their stores and names
 * are the same.
 */
public final class Holdfast implements AutoCloseable {

    /** How long {@link #state}, {@link #list} and {@link #forceRelease} wait for the store. */
    private static final long INSPECT_NANOS = Duration.ofSeconds(10).toNanos();

    private final Engine engine;
    private final LockOptions options;
    private final boolean ownsStore;

    private Holdfast(Engine engine, LockOptions options, boolean ownsStore) {
        this.engine = engine;
        this.options = options;
        this.ownsStore = ownsStore;
    }

    /**
     * Opens a store by its URL. The store modules on the class path determine which URL schemes are available. Each client that
     * is opened by {@code memory:} has a store of its own; {@link #over} lets several share one.
     *
     * @param url for example {@code memory:} or {@code sqlite:/var/lib/shop/locks.db}
     * @throws IllegalArgumentException if no module on the class path opens such a URL, or it is wrong
     * @throws IllegalStateException if a library that the store uses is missing or too old; the message names the version
     * @throws StoreUnavailableException if the store cannot be reached or is not set up as required
     */
    public static Holdfast connect(String url) {
        return builder().url(url).connect();
    }

    /** Uses a store that the caller owns. It is not closed with the client. */
    public static Holdfast over(LockStore store) {
        return builder().store(store).connect();
    }

    /** Starts to build a client with settings other than the defaults. */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * A mutex with the client's default options.
     *
     * @throws IllegalArgumentException if the name is not 1 to 255 bytes of UTF-8 without control characters
     */
    public DistributedLock lock(String name) {
        return lock(name, options);
    }

    /**
     * A mutex.
     *
     * @throws UnsupportedOperationException if it is to be fair, and the store has no queue ({@link StoreTraits#fifo()})
     */
    public DistributedLock lock(String name, LockOptions options) {
        return ReentrantDistributedLock.mutex(engine, name, options);
    }

    /** A read-write lock with the client's default options. */
    public DistributedReadWriteLock readWriteLock(String name) {
        return readWriteLock(name, options);
    }

    /**
     * A read-write lock.
     *
     * @throws UnsupportedOperationException if the store serves no such locks ({@link StoreTraits#kinds()})
     */
    public DistributedReadWriteLock readWriteLock(String name, LockOptions options) {
        return ReadWriteLockPair.of(engine, name, options);
    }

    /**
     * A semaphore with the client's default options.
     *
     * @param limit how many permits there are in all; every client must use the same number
     */
    public DistributedSemaphore semaphore(String name, int limit) {
        return semaphore(name, limit, options);
    }

    /**
     * A semaphore.
     *
     * @throws UnsupportedOperationException if the store serves no semaphores ({@link StoreTraits#kinds()})
     */
    public DistributedSemaphore semaphore(String name, int limit, LockOptions options) {
        return new LeaseSemaphore(engine, name, limit, options);
    }

    /**
     * Several mutexes that are acquired as one, all or nothing, with the client's default options. The order of the
     * names does not matter.
     */
    public DistributedLock multiLock(String... names) {
        return multiLock(List.of(names), options);
    }

    /**
     * Several mutexes that are acquired as one, all or nothing. They are acquired in one step if the store supports
     * that ({@link StoreTraits#atomicSeveral()}) and all are free, and otherwise one after the other in the order
     * of the bytes of their names. So an acquire that waits holds some of them while it waits for others; it would be
     * overtaken for ever by those that need one only if it did not. A try holds all or none when it returns.
     *
     * @throws IllegalArgumentException if there is no name, or a name is given twice
     * @throws UnsupportedOperationException if it is to be fair, and the store has no queue ({@link StoreTraits#fifo()})
     */
    public DistributedLock multiLock(Collection<String> names, LockOptions options) {
        return new MultiLock(engine, names, options);
    }

    /** A candidate with the default options. It takes no part before it is started. */
    public Election election(String name) {
        return election(name, ElectionOptions.defaults());
    }

    /**
     * A candidate in the election of a leader. It takes no part before it is started; each call makes another one.
     *
     * @throws IllegalArgumentException if the name is not 1 to 255 bytes of UTF-8 without control characters
     */
    public Election election(String name, ElectionOptions options) {
        return new LeaderElection(engine, name, options);
    }

    /**
     * Who holds and who waits for a name of any kind, as the store sees it, with one round trip. Empty if nobody
     * holds or waits.
     */
    public Optional<ResourceState> state(String name) {
        return engine.inspector().state(new LockName(name), INSPECT_NANOS);
    }

    /**
     * The names in use, in the order of their bytes.
     *
     * @param prefix what they begin with; may be empty
     * @param limit the most names to return, 1 to 10,000
     * @throws IllegalArgumentException if the limit is out of its range
     */
    public List<String> list(String prefix, int limit) {
        return engine.inspector().list(Objects.requireNonNull(prefix, "prefix"), limit, INSPECT_NANOS);
    }

    /**
     * Releases exactly the claim that {@link #state} has shown, and no later one of the same name.
     *
     * @return whether it held or waited until now
     */
    public boolean forceRelease(ResourceState.Entry seen) {
        return engine.inspector().breakClaim(seen, INSPECT_NANOS);
    }

    /**
     * How many locks this client holds, without asking the store: each thread, lease and permit lease counts once for each name.
     * Names are looked at one after the other, so that the sum is of no single moment.
     */
    public int heldCount() {
        return engine.locks().held();
    }

    /** How many acquisitions of this client wait at present, without asking the store; counted like {@link #heldCount}. */
    public int waitingCount() {
        return engine.locks().waiting();
    }

    /** What the store promises. */
    public StoreTraits traits() {
        return engine.store().traits();
    }

    /** The random id of this client. It is part of the id of each of its claims. */
    public String clientId() {
        return engine.clientId();
    }

    /** For tests of the engine. */
    Engine engine() {
        return engine;
    }

    /**
     * Closes all elections, and waits at most two seconds until their tasks and listeners have ended. Then ends all waits, ends all
     * holds as lost with {@link LossReason#CLOSED}, and releases them in the store. It waits at most two seconds for these
     * releases, and repeats those that fail meanwhile; and, in the same two seconds, until threads that were signalled and do not
     * get their lock back have passed the signal on. Closes the store if {@link #connect} opened it. Idempotent.
     */
    @Override
    public void close() {
        engine.close();
        if (ownsStore) {
            engine.store().close();
        }
    }

    /** Settings of a client. Not thread-safe. */
    public static final class Builder {

        /** How many hand-offs of one grant fit into a token. */
        private static final int MOST_HAND_OFFS = 1023;

        private @Nullable String url;
        private @Nullable LockStore store;
        private MonotonicClock clock = MonotonicClock.SYSTEM;
        private final List<LockObserver> observers = new ArrayList<>(2);
        private @Nullable Executor callbacks;
        private String label = "";
        private LockOptions options = LockOptions.defaults();
        private int handOffs = MOST_HAND_OFFS;
        private Duration handOffTime = Duration.ofMillis(10);
        private @Nullable Simulator simulator;

        private Builder() {}

        /** The store to open. */
        public Builder url(String url) {
            this.url = url;
            return this;
        }

        /** A store that the caller owns, instead of a URL. It is not closed with the client. */
        public Builder store(LockStore store) {
            this.store = store;
            return this;
        }

        /** The clock, for tests. A store that is opened by its URL uses it too. */
        public Builder clock(MonotonicClock clock) {
            this.clock = Objects.requireNonNull(clock, "clock");
            return this;
        }

        /**
         * Adds an observer, which is notified of the events of this client's locks. Each of several is notified, in the order in
         * which they were added; what one throws does not keep the others from it. One that is added twice is notified once.
         */
        public Builder observer(LockObserver observer) {
            Objects.requireNonNull(observer, "observer");
            if (observer != LockObserver.NONE && observers.stream().noneMatch(one -> one == observer)) {
                observers.add(observer);
            }
            return this;
        }

        /** The executor that runs listeners and the completions of futures, instead of the client's own threads. */
        public Builder callbacks(Executor callbacks) {
            this.callbacks = Objects.requireNonNull(callbacks, "callbacks");
            return this;
        }

        /** A text by which people recognise this client; at most 128 characters are kept. */
        public Builder label(String label) {
            this.label = Objects.requireNonNull(label, "label");
            return this;
        }

        /** The options of locks that are created without any of their own. */
        public Builder options(LockOptions options) {
            this.options = Objects.requireNonNull(options, "options");
            return this;
        }

        /**
         * How often a grant is passed on inside the JVM before it goes back to the store. The default is 1,023,
         * which is also the maximum; 0 turns hand-offs off.
         */
        public Builder handOffs(int handOffs) {
            if (handOffs < 0 || handOffs > MOST_HAND_OFFS) {
                throw new IllegalArgumentException(
                        "A grant can be passed on 0 to " + MOST_HAND_OFFS + " times, not " + handOffs);
            }
            this.handOffs = handOffs;
            return this;
        }

        /** How long a grant is passed on inside the JVM before it goes back to the store; 10 ms by default. */
        public Builder handOffTime(Duration handOffTime) {
            if (handOffTime.isNegative()) {
                throw new IllegalArgumentException("handOffTime must not be negative, but was " + handOffTime);
            }
            this.handOffTime = handOffTime;
            return this;
        }

        /** For tests of the engine: what does its work in the place of threads. */
        Builder simulator(Simulator simulator) {
            this.simulator = simulator;
            return this;
        }

        /**
         * Opens the store, if it was given by URL, and makes the client.
         *
         * @throws IllegalArgumentException if there is not exactly one of URL and store, or the URL is wrong
         * @throws StoreUnavailableException if the store cannot be reached or is not set up as required
         */
        public Holdfast connect() {
            if ((url == null) == (store == null)) {
                throw new IllegalArgumentException("Give either the URL of a store or a store");
            }
            LockStore opened = store != null ? store : open(Objects.requireNonNull(url));
            Engine engine = new Engine(opened, clock, observers, callbacks, label, handOffs, handOffTime, simulator);
            return new Holdfast(engine, options, store == null);
        }

        private LockStore open(String url) {
            try {
                return Providers.open(url, clock);
            } catch (StoreException failure) {
                throw new StoreUnavailableException(
                        "The store " + StoreUrl.withoutPassword(url) + " could not be opened: " + failure.getMessage(),
                        failure);
            }
        }
    }
}
