package dev.holdfast.shedlock;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreTraits.Liveness;
import java.util.Optional;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;

/**
 * Keeps the locks of ShedLock's jobs in the store of a {@link Holdfast}.
 *
 * <pre>{@code
 * @Bean
 * LockProvider lockProvider(Holdfast locks) {
 *     return new HoldfastLockProvider(locks);
 * }
 * }</pre>
 *
 * <p>The lock of the job {@code nightly} is the exclusive lock {@code nightly}, so that {@code locks.lock("nightly")} and the
 * tool of the command line exclude the job, too.
 *
 * <h2>Guarantees</h2>
 *
 * <ul>
 *   <li>It never waits: a job that is locked is skipped.
 *   <li>Only the node that has the lock can extend or unlock it, also after its time.
 *   <li>The lock lasts for {@code lockAtMostFor}, and is not renewed meanwhile. If the node dies, it is free a hundredth of
 *       that time and 3 ms later.
 *   <li>A job that ends before {@code lockAtLeastFor} leaves the lock taken until then, by the clock of the store: no thread waits
 *       for it, and it does not matter whether the process goes on. This is a second lock, {@code nightly~at-least}. If the node
 *       is closed less than 100 ms before the end of {@code lockAtLeastFor}, the lock may be free by so much earlier.
 *   <li>In stores where locks end with the client's session (ZooKeeper, etcd) the lock is renewed, and a timer of the JVM ends it at
 *       {@code lockAtMostFor}, or at {@code lockAtLeastFor} after the job. If the node dies it is free when its session is over,
 *       and at once if the client is closed, also before {@code lockAtLeastFor}.
 *   <li>{@code extend} makes the lock last from now on, and never shortens it; empty if it was lost or its time is over.
 *   <li>To lock takes two round trips, or one if somebody has the lock; to unlock takes one, or two before {@code lockAtLeastFor}.
 * </ul>
 *
 * <p>Times shorter than 100 ms are rounded up to it in the store, and to the store's step. A job that was running when its lock was
 * lost is told nothing, as with all of ShedLock; a warning is logged when it unlocks.
 *
 * <p>Thread-safe. The {@link Holdfast} stays the caller's, who closes it.
 */
public final class HoldfastLockProvider implements ExtensibleLockProvider {

    /** Ends the name of the lock that is held for the rest of {@code lockAtLeastFor}. */
    static final String AT_LEAST = "~at-least";

    private final Holdfast locks;
    private final MonotonicClock clock;

    /** A provider over a client, which it does not close. */
    public HoldfastLockProvider(Holdfast locks) {
        this(locks, MonotonicClock.SYSTEM);
    }

    HoldfastLockProvider(Holdfast locks, MonotonicClock clock) {
        this.locks = locks;
        this.clock = clock;
    }

    /**
     * Takes the lock of a job if it is free.
     *
     * @return empty if another node has it, or had it until less than {@code lockAtLeastFor} ago
     * @throws IllegalArgumentException if {@code lockAtMostFor} is longer than 24 h, or the name is longer than 246 bytes
     * @throws dev.holdfast.StoreUnavailableException if the store did not answer within 10 s; or if it is a quorum, and {@code
     *     lockAtMostFor} with a hundredth of it is longer than its {@code maxLease}, a minute by default
     */
    @Override
    public Optional<SimpleLock> lock(LockConfiguration configuration) {
        return take(configuration).map(lock -> lock);
    }

    /**
     * A provider for the time of a change-over, while other nodes still run with one of ShedLock's own providers alone: it takes
     * the lock of this one, and then that of theirs, so that all nodes exclude each other. When no node is left that has theirs
     * alone, use this one alone; nodes with both and nodes with this one exclude each other, too.
     *
     * <ul>
     *   <li>The job runs under both locks, or not at all. {@code lockAtLeastFor} is kept by both.
     *   <li>Theirs is unlocked, or extended, only while {@code lockAtMostFor} is not over: most of ShedLock's providers know an owner
     *       by the name of its host, and would unlock the job of another process there.
     *   <li>A failure of theirs is thrown. If the job was to be locked, ours is free then; if its locks were to be extended, both stay
     *       as they are.
     *   <li>A node that dies leaves the job locked for {@code lockAtMostFor}, and a hundredth of it and 3 ms longer for nodes that
     *       take this lock, too.
     * </ul>
     *
     * @param theirs the provider of the other nodes, with the same table, or the same prefix and environment
     * @return a provider; thread-safe if theirs is
     */
    public ExtensibleLockProvider beside(ExtensibleLockProvider theirs) {
        return new ChangeOverLockProvider(this, theirs);
    }

    /** The lock of a job; empty if it is not free. */
    Optional<OwnJobLock> take(LockConfiguration configuration) {
        JobTimes times = JobTimes.startingNow(configuration, clock);
        DistributedLock rest = locks.lock(configuration.getName() + AT_LEAST);
        LockOptions fixed = times.options();
        boolean endsWithSession = locks.traits().liveness() == Liveness.SESSION;
        Optional<Lease> taken = locks.lock(configuration.getName(), endsWithSession ? LockOptions.defaults() : fixed)
                .tryAcquire();
        if (taken.isEmpty() || isStillKept(rest, taken.get())) {
            return Optional.empty();
        }
        return Optional.of(
                endsWithSession
                        ? SessionJobLock.begin(configuration, times, taken.get())
                        : new JobLock(locks, configuration, times, taken.get()));
    }

    // Asked after the lock was taken: whoever leaves it to the rest of lockAtLeastFor takes that before he releases
    // this one.
    private static boolean isStillKept(DistributedLock rest, Lease taken) {
        boolean mayRun = false;
        try {
            mayRun = !rest.isLocked();
            return !mayRun;
        } finally {
            if (!mayRun) {
                taken.release();
            }
        }
    }
}
