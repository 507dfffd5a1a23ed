package dev.holdfast.engine.simulation;

import dev.holdfast.DistributedLock;
import dev.holdfast.DistributedReadWriteLock;
import dev.holdfast.Lease;
import dev.holdfast.LockException;
import dev.holdfast.LockLostException;
import dev.holdfast.LockOptions;
import dev.holdfast.internal.cohort.CohortLock;
import dev.holdfast.internal.hold.Hold;
import dev.holdfast.internal.hold.LockSpec;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ResourceState;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * A thread of a process as a user of {@code lock()}: it takes a lock, once and again, goes on as a reader, waits for conditions
 * and signals them, gives up what it has, and asks for what it cannot have. While it is parked, all others go on.
 */
final class ThreadUser {

    private static final int STOPS_ONCE_IN = 12;

    /** What it has of a name. */
    private final class Own implements Held.Belief {
        private final SharedName name;
        private final LockOptions how;
        private final DistributedLock exclusive;
        /** Null if the name is a mutex. */
        private final DistributedLock shared;

        private int writes;
        private int reads;
        private Held held;

        private Own(SharedName name, LockOptions how, DistributedLock exclusive, DistributedLock shared) {
            this.name = name;
            this.how = how;
            this.exclusive = exclusive;
            this.shared = shared;
        }

        private DistributedLock present() {
            return writes > 0 ? exclusive : shared;
        }

        private int limit() {
            return shared == null ? 1 : Claim.ALL;
        }

        // Asked by the world, too, for which the lock would say what the thread of the world has.
        private Hold hold() {
            CohortLock lock = process.engine().locks().peek(name.lockName());
            LockSpec spec = LockSpec.of(name.lockName(), writes > 0 ? limit() : 1, limit(), how);
            return lock == null ? null : lock.locked(() -> lock.holdOf(thread, spec));
        }

        @Override
        public boolean isValid() {
            Hold hold = hold();
            return hold != null && hold.isHeld();
        }

        @Override
        public long token(String unused) {
            return hold().token();
        }

        @Override
        public String toString() {
            return name + " held by " + thread + " " + writes + " and " + reads + " times";
        }
    }

    /** What its simulation does for it. */
    interface Host {
        /** Of each future of a process, whether it is complete. */
        List<BooleanSupplier> futures(SimulatedProcess process);

        void hold(Held held);

        void drop(Held held);

        void hold(Lease lease, SimulatedProcess process, List<SharedName> names, int permits, int limit);

        void met(RuntimeException failure);
    }

    private final World world;
    private final Chance chance;
    private final Host host;
    private final boolean queues;
    private final SimulatedProcess process;
    private final SimulatedThread thread;
    /** Null if it has nothing. */
    private Own own;

    private boolean waitsForCondition;

    ThreadUser(World world, Host host, SimulatedProcess process, boolean queues) {
        this.world = world;
        this.chance = world.chance();
        this.host = host;
        this.queues = queues;
        this.process = process;
        this.thread = process.newThread(true);
    }

    SimulatedProcess process() {
        return process;
    }

    /** Whether it is in no call. */
    boolean isIdle() {
        return thread.isIdle();
    }

    boolean hasNothing() {
        return own == null && isIdle();
    }

    boolean waitsForCondition() {
        return waitsForCondition;
    }

    void interrupt() {
        if (!isIdle()) {
            world.note(thread, "is interrupted");
            thread.interrupt();
        }
    }

    /** The thread ends, with all that it has, which nobody can give up any more; null if that is nothing. */
    Held die() {
        world.note(thread, "ends with " + own);
        process.end(thread);
        return own == null ? null : own.held;
    }

    /** Takes a name, if it has none, and does something with it, fast or slowly. */
    void act(SharedName name, boolean isMutex, LockOptions how) {
        begin(() -> {
            if (own == null) {
                take(name, isMutex, how);
            }
            while (own != null && !chance.once(STOPS_ONCE_IN)) {
                if (chance.once(3)) {
                    thread.beSlow();
                }
                goOn();
            }
        });
    }

    private void goOn() throws InterruptedException {
        requireCounts();
        switch (chance.below(9)) {
            case 0 -> again();
            case 1 -> read();
            case 2 -> own.present().extend(Duration.ofMillis(100 + chance.below(3_000)));
            case 3, 4 -> await();
            case 5, 6 -> signal();
            default -> unlock();
        }
    }

    /** Breaks a lock, as exactly the claim that was seen. */
    void breakSeen(SharedName name, ResourceState.Entry seen) {
        begin(() -> {
            world.note(thread, "breaks " + name);
            process.client().forceRelease(seen);
        });
    }

    /** Gives something up, if it has something. */
    void giveUpSome() {
        if (own != null) {
            begin(this::unlock);
        }
    }

    private interface Call {
        void run() throws InterruptedException;
    }

    private void begin(Call call) {
        thread.begin(() -> {
            boolean thrown = false;
            try {
                call.run();
            } catch (InterruptedException interrupted) {
                thrown = true;
                world.note(thread, "was interrupted");
            } catch (LockException honest) {
                host.met(honest);
            }
            if (thread.interrupts() > 0 && !thrown && !Thread.interrupted()) {
                throw new AssertionError("An interrupt of " + thread + " was lost");
            }
        });
    }

    private void take(SharedName name, boolean isMutex, LockOptions how) throws InterruptedException {
        int limit = isMutex ? 1 : Claim.ALL;
        DistributedReadWriteLock pair = process.client().readWriteLock(name.toString(), how);
        DistributedLock exclusive = isMutex ? process.client().lock(name.toString(), how) : pair.writeLock();
        boolean writes = isMutex || chance.once(2);
        DistributedLock lock = writes ? exclusive : pair.readLock();
        world.note(thread, "takes " + lock);
        if (chance.once(30)) {
            requireRefused(lock);
        }
        if (chance.once(6)) {
            Lease lease = lock.acquire(Duration.ofMillis(1 + chance.below(2_000)));
            host.hold(lease, process, List.of(name), writes ? limit : 1, limit);
        } else if (chance.once(5) ? lock.tryLock() : writes && !how.fair() ? lockInTurn(lock, name, how) : lock(lock)) {
            world.note(thread, "has " + lock);
            own = new Own(name, how, exclusive, isMutex ? null : pair.readLock());
            own.writes = writes ? 1 : 0;
            own.reads = writes ? 0 : 1;
            own.held = new Held(own, process, List.of(name), writes ? limit : 1, limit);
            host.hold(own.held);
            if (writes && !isMutex && chance.once(2)) {
                // At once, so that others who read here may join it.
                read();
                unlock();
            }
        }
    }

    // A fair one, and one that does not wait, is not in the queue of its process.
    private boolean lockInTurn(DistributedLock lock, SharedName name, LockOptions how) throws InterruptedException {
        List<BooleanSupplier> before = process.callsBut(thread);
        before.addAll(host.futures(process));
        LocalTurn turn = new LocalTurn(thread, name, how, world.next(), before);
        process.turns().add(turn);
        try {
            boolean locked = lock(lock);
            if (locked) {
                turn.requireOvertakesNobody(lock.token(), world.now(), process.turns());
            }
            return locked;
        } finally {
            process.turns().remove(turn);
        }
    }

    private boolean lock(DistributedLock lock) throws InterruptedException {
        switch (chance.below(4)) {
            case 0 -> lock.lock();
            case 1 -> lock.lockInterruptibly();
            default -> {
                return lock.tryLock(1 + chance.below(2_000), TimeUnit.MILLISECONDS);
            }
        }
        return true;
    }

    private static void requireRefused(DistributedLock lock) {
        try {
            lock.unlock();
        } catch (IllegalMonitorStateException refused) {
            return;
        }
        throw new AssertionError("A thread has unlocked " + lock + ", which it did not hold");
    }

    private void requireCounts() {
        int writes = own.exclusive.holdCount();
        int reads = own.shared == null ? 0 : own.shared.holdCount();
        if (!process.engine().isClosed() && (writes != own.writes || reads != own.reads)) {
            throw new AssertionError(own + ", but the lock counts " + writes + " and " + reads);
        }
    }

    private void again() {
        if (own.writes > 0) {
            own.exclusive.lock();
            own.writes++;
        } else if (chance.once(2)) {
            read();
        } else {
            upgrade();
        }
    }

    // It would wait for itself.
    private void upgrade() {
        if (!chance.once(2)) {
            own.exclusive.lock();
        } else if (!own.exclusive.tryLock()) {
            return;
        }
        throw new AssertionError(own + ", and as a writer");
    }

    private void read() {
        if (own.shared != null) {
            own.shared.lock();
            own.reads++;
        }
    }

    private void signal() {
        if (own.writes > 0 && own.reads == 0) {
            boolean all = chance.once(4);
            world.note(thread, (all ? "signals all of " : "signals ") + own.name);
            condition().signal(all);
        }
    }

    private SimulatedCondition condition() {
        return process.condition(own.name, own.exclusive, !queues || chance.once(2));
    }

    // It comes back with all holds, as a new grant, or with none.
    private void await() throws InterruptedException {
        if (own.writes == 0 || own.reads > 0) {
            return;
        }
        SimulatedCondition condition = condition();
        Own waiting = own;
        world.note(thread, "waits for a condition of " + waiting.name);
        long before = waiting.exclusive.token();
        own = null;
        host.drop(waiting.held);
        waitsForCondition = true;
        try {
            condition.await(thread, chance.once(2) ? -1 : chance.below(4_000));
            if (waiting.exclusive.token() <= before) {
                throw new AssertionError(
                        "The token is " + waiting.exclusive.token() + " after a wait, and was " + before);
            }
        } finally {
            waitsForCondition = false;
            comeBack(waiting, before);
        }
    }

    private void comeBack(Own waiting, long before) {
        int holds = process.dead || process.engine().isClosed() ? 0 : waiting.exclusive.holdCount();
        if (holds != 0 && holds != waiting.writes) {
            throw new AssertionError(waiting + " came back from a wait " + holds + " times");
        }
        if (holds > 0) {
            waiting.held =
                    new Held(waiting, process, waiting.held.names(), waiting.held.permits(), waiting.held.limit());
            if (waiting.exclusive.token() == before) {
                // The wait did not begin, so that this is what was seen before.
                waiting.held.isSeenFirst();
            }
            own = waiting;
            host.hold(own.held);
        }
    }

    private void unlock() {
        Own present = own;
        boolean write = present.writes > 0;
        present.writes -= write ? 1 : 0;
        present.reads -= write ? 0 : 1;
        boolean isOver = present.writes + present.reads == 0;
        boolean goesOnAsReader = write && present.writes == 0 && present.reads > 0;
        world.note(thread, "unlocks " + present);
        if (isOver || goesOnAsReader) {
            present.held.markReleased();
            host.drop(present.held);
        }
        if (isOver) {
            own = null;
        } else if (goesOnAsReader) {
            // It keeps the token of the writer, which was seen.
            present.held = new Held(present, process, present.held.names(), 1, Claim.ALL);
            present.held.isSeenFirst();
        }
        try {
            (write ? present.exclusive : present.shared).unlock();
        } catch (LockLostException lost) {
            host.met(lost);
        }
        if (goesOnAsReader && own == present) {
            host.hold(present.held);
        }
    }
}
