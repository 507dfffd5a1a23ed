package dev.holdfast.benchmarks.soak;

import dev.holdfast.DistributedLock;
import dev.holdfast.DistributedReadWriteLock;
import dev.holdfast.DistributedSemaphore;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockLostException;
import dev.holdfast.LockOptions;
import dev.holdfast.LockTimeoutException;
import dev.holdfast.election.Election;
import dev.holdfast.election.ElectionOptions;
import dev.holdfast.spi.StoreTraits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;

/**
 * All that a program can do with one client, each as a short piece of work that gives back what it takes. Names are shared with the
 * other clients of the store, so that most deeds meet others. Thread-safe.
 */
final class Deeds {

    /** One piece of work. */
    interface Deed {
        void run() throws InterruptedException;
    }

    private static final int NAMES_OF_A_KIND = 3;
    private static final int PERMITS = 5;
    private static final int LONGEST_HOLD_MILLIS = 20;
    private static final int LONGEST_WAIT_MILLIS = 200;
    private static final Duration SHORT_LEASE = Duration.ofMillis(200);
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final LockOptions FAIR = LockOptions.defaults().withFair(true);
    private static final LockOptions SPIN = LockOptions.defaults().withSpin(true);
    private static final ElectionOptions CANDIDATE =
            ElectionOptions.defaults().withObserveEvery(Duration.ofMillis(200));

    /** Numbers the names that are used once, in all clients of this process. */
    private static final AtomicLong ONCE = new AtomicLong();

    private final Holdfast locks;
    private final Interrupts interrupts;
    private final List<Deed> all = new ArrayList<>();

    /** @param staysOpen whether the client is open for long enough to end what it has let expire, which on etcd nobody else does */
    Deeds(Holdfast locks, Interrupts interrupts, boolean staysOpen) {
        this.locks = locks;
        this.interrupts = interrupts;
        all.addAll(List.of(
                this::lock,
                this::lockAgain,
                this::tryOnce,
                this::tryForAWhile,
                this::tryWithBackOff,
                this::waitUntilInterrupted,
                this::waitWithoutAThread,
                this::cancel,
                this::takeSeveral,
                this::useANameOnce,
                this::listen,
                this::runOut,
                this::extend,
                this::breakLock,
                this::lead,
                this::look));
        if (staysOpen) {
            all.add(this::letExpire);
        }
        StoreTraits.Kinds kinds = locks.traits().kinds();
        if (kinds != StoreTraits.Kinds.MUTEX) {
            all.addAll(List.of(this::read, this::write, this::downgrade));
        }
        if (kinds == StoreTraits.Kinds.ALL) {
            all.addAll(List.of(this::takePermits, this::waitForPermits));
        }
        all.add(this::awaitHere);
        if (locks.traits().fifo()) {
            all.add(this::lockFairly);
        }
        if (locks.traits().fifo() && kinds == StoreTraits.Kinds.ALL) {
            all.addAll(List.of(this::awaitSignal, this::signal));
        }
    }

    /** Does one of them, chosen at random. A wait that has come to its time limit is no failure. */
    void doOne() throws InterruptedException {
        try {
            all.get(random().nextInt(all.size())).run();
        } catch (LockTimeoutException limited) {
            // Others were quicker.
            LockSupport.parkNanos(1);
        }
    }

    /** Does each of them once, so that everything has been used. */
    void doAll() throws InterruptedException {
        for (Deed deed : all) {
            try {
                deed.run();
            } catch (LockTimeoutException limited) {
                LockSupport.parkNanos(1);
            }
        }
    }

    /** Leaves a hold, a wait and a candidate to the close of the client, which must end them all. */
    void abandon() throws InterruptedException {
        locks.lock(name("mutex")).acquireAsync();
        locks.lock("left:" + ONCE.incrementAndGet()).acquire(PATIENCE).onLost(reason -> {});
        locks.election(name("leader"), CANDIDATE).start();
    }

    private void lock() {
        DistributedLock lock = locks.lock(name("mutex"));
        lock.lock();
        try {
            hold();
        } finally {
            lock.unlock();
        }
    }

    private void lockAgain() {
        DistributedLock lock = locks.lock(name("mutex"));
        lock.lock();
        try {
            lock.lock();
            hold();
            lock.unlock();
        } finally {
            lock.unlock();
        }
    }

    private void tryOnce() {
        DistributedLock lock = locks.lock(name("mutex"));
        if (lock.tryLock()) {
            hold();
            lock.unlock();
        }
    }

    private void tryForAWhile() throws InterruptedException {
        DistributedLock lock = locks.lock(name("mutex"));
        if (lock.tryLock(anyWait().toMillis(), TimeUnit.MILLISECONDS)) {
            hold();
            lock.unlock();
        }
    }

    private void tryWithBackOff() throws InterruptedException {
        try (Lease lease = locks.lock(name("mutex"), SPIN).acquire(anyWait())) {
            hold();
        }
    }

    private void waitUntilInterrupted() {
        DistributedLock lock = locks.lock(name("mutex"));
        try (Interrupts.Due due = interrupts.after(anyWait())) {
            lock.lockInterruptibly();
            try {
                hold();
            } finally {
                lock.unlock();
            }
        } catch (InterruptedException meant) {
            // It was by the alarm: the flag is cleared with it.
            LockSupport.parkNanos(1);
        }
    }

    private void waitWithoutAThread() {
        Lease lease = locks.lock(name("mutex")).acquireAsync(PATIENCE).join();
        hold();
        lease.releaseAsync().join();
    }

    private void cancel() {
        CompletableFuture<Lease> wait = locks.lock(name("mutex")).acquireAsync();
        hold();
        if (!wait.cancel(true)) {
            wait.join().release();
        }
    }

    private void lockFairly() throws InterruptedException {
        try (Lease lease = locks.lock(name("fair"), FAIR).acquire(PATIENCE)) {
            hold();
        }
    }

    private void read() throws InterruptedException {
        try (Lease lease = readWrite().readLock().acquire(anyWait())) {
            hold();
        }
    }

    private void write() throws InterruptedException {
        try (Lease lease = readWrite().writeLock().acquire(anyWait())) {
            hold();
        }
    }

    private void downgrade() {
        DistributedReadWriteLock pair = readWrite();
        pair.writeLock().lock();
        pair.readLock().lock();
        pair.writeLock().unlock();
        hold();
        pair.readLock().unlock();
    }

    private DistributedReadWriteLock readWrite() {
        return locks.readWriteLock(name("read-write"));
    }

    private void takePermits() {
        semaphore().tryAcquire(random().nextInt(1, PERMITS + 1)).ifPresent(lease -> {
            hold();
            lease.release();
        });
    }

    private void waitForPermits() throws InterruptedException {
        try (Lease lease = semaphore().acquire(random().nextInt(1, PERMITS + 1), anyWait())) {
            hold();
        }
    }

    private DistributedSemaphore semaphore() {
        return locks.semaphore(name("permits"), PERMITS);
    }

    private void takeSeveral() throws InterruptedException {
        List<String> names = List.of("several:1", "several:2", "several:" + random().nextInt(3, 6));
        try (Lease lease = locks.multiLock(names, LockOptions.defaults()).acquire(anyWait())) {
            hold();
        }
    }

    private void useANameOnce() throws InterruptedException {
        try (Lease lease = locks.lock("once:" + ONCE.incrementAndGet()).acquire(PATIENCE)) {
            hold();
        }
    }

    private void awaitHere() throws InterruptedException {
        DistributedLock lock = locks.lock(name("condition"));
        lock.lock();
        try {
            Condition condition = lock.newCondition();
            if (!condition.await(random().nextInt(1, LONGEST_HOLD_MILLIS), TimeUnit.MILLISECONDS)) {
                condition.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    private void awaitSignal() throws InterruptedException {
        DistributedLock lock = locks.lock(name("condition"));
        lock.lock();
        try {
            lock.condition("changed").await(anyWait().toMillis(), TimeUnit.MILLISECONDS);
        } finally {
            lock.unlock();
        }
    }

    private void signal() {
        DistributedLock lock = locks.lock(name("condition"));
        lock.lock();
        try {
            if (random().nextBoolean()) {
                lock.condition("changed").signal();
            } else {
                lock.condition("changed").signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    private void listen() throws InterruptedException {
        try (Lease lease = locks.lock(name("mutex")).acquire(PATIENCE)) {
            lease.onLost(reason -> {});
            lease.onInDoubt(remaining -> {});
            hold();
        }
    }

    private void runOut() throws InterruptedException {
        LockOptions options = LockOptions.defaults().withFixedLease(SHORT_LEASE);
        CountDownLatch lost = new CountDownLatch(1);
        try (Lease lease = locks.lock("out:" + ONCE.incrementAndGet(), options).acquire(PATIENCE)) {
            lease.onLost(reason -> lost.countDown());
            await(lost, "the loss of a lease that has run out");
        } catch (LockLostException meant) {
            // Such is the answer to a release that comes too late.
            LockSupport.parkNanos(1);
        }
    }

    private void letExpire() throws InterruptedException {
        LockOptions options = LockOptions.defaults().withFixedLease(SHORT_LEASE);
        try {
            locks.lock("expires:" + ONCE.incrementAndGet(), options)
                    .acquire(PATIENCE)
                    .letExpire();
        } catch (LockLostException late) {
            // On a busy machine it was over before.
            LockSupport.parkNanos(1);
        }
    }

    private void extend() throws InterruptedException {
        try (Lease lease = locks.lock(name("mutex")).acquire(PATIENCE)) {
            lease.extend(LockOptions.defaults().lease());
        }
    }

    private void breakLock() throws InterruptedException {
        DistributedLock lock = locks.lock("broken:" + ONCE.incrementAndGet());
        CountDownLatch lost = new CountDownLatch(1);
        try (Lease lease = lock.acquire(PATIENCE)) {
            lease.onLost(reason -> lost.countDown());
            lock.forceRelease();
            await(lost, "the loss of a lock that was broken");
        } catch (LockLostException meant) {
            LockSupport.parkNanos(1);
        }
    }

    private void lead() throws InterruptedException {
        try (Election election = locks.election(name("leader"), CANDIDATE)) {
            election.onElected(term -> hold());
            election.onLost(reason -> {});
            election.observe(leader -> {});
            election.start();
            if (election.awaitTerm(anyWait()).isPresent()) {
                election.proclaim("a payload");
                hold();
                if (random().nextBoolean()) {
                    election.resign();
                }
            }
        }
    }

    private void look() {
        DistributedLock lock = locks.lock(name("mutex"));
        lock.state();
        lock.queueLength();
        locks.list("mutex", NAMES_OF_A_KIND);
    }

    private static void await(CountDownLatch latch, String what) throws InterruptedException {
        if (!latch.await(PATIENCE.toMillis(), TimeUnit.MILLISECONDS)) {
            throw new IllegalStateException("No listener was notified of " + what + " within " + PATIENCE);
        }
    }

    private static void hold() {
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(random().nextInt(LONGEST_HOLD_MILLIS)));
    }

    private static Duration anyWait() {
        return Duration.ofMillis(random().nextInt(1, LONGEST_WAIT_MILLIS));
    }

    private static String name(String kind) {
        return kind + ":" + random().nextInt(NAMES_OF_A_KIND);
    }

    private static ThreadLocalRandom random() {
        return ThreadLocalRandom.current();
    }
}
