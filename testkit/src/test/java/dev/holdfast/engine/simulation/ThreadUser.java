package dev.holdfast.engine.simulation;

import dev.holdfast.DistributedLock;
import dev.holdfast.DistributedReadWriteLock;
import dev.holdfast.Lease;
import dev.holdfast.LockException;
import dev.holdfast.LockLostException;
import dev.holdfast.LockOptions;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ResourceState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;

/**
 * The one thread of the simulation as a user of {@code lock()}: it takes locks, once and again, goes on as a reader, waits for
 * conditions, and gives up what it has. When it is parked, the others go on; so it is parked in one call at a time.
 */
final class ThreadUser {

    /** With a lock's name before it, the wait set of the condition that the thread waits for. */
    static final String WAIT_SET = "#changed";

    /** The process was killed while its thread was parked. */
    static final class ProcessDied extends RuntimeException {
        private static final long serialVersionUID = 1;

        ProcessDied() {
            super("The process of the parked thread has died");
        }
    }

    /** What it has of a name. */
    private final class Own implements Held.Belief {
        private final SimulatedProcess process;
        private final SharedName name;
        private final DistributedLock exclusive;
        private final DistributedLock shared;
        private int writes;
        private int reads;
        private Held held;

        private Own(SimulatedProcess process, SharedName name, DistributedLock exclusive, DistributedLock shared) {
            this.process = process;
            this.name = name;
            this.exclusive = exclusive;
            this.shared = shared;
        }

        private DistributedLock present() {
            return writes > 0 ? exclusive : shared;
        }

        @Override
        public boolean isValid() {
            return present().isHeldByCurrentThread();
        }

        @Override
        public long token(String unused) {
            return present().token();
        }

        @Override
        public String toString() {
            return name + " held by the thread " + writes + " and " + reads + " times";
        }
    }

    /** What its simulation does for it. */
    interface Host {
        void hold(Held held);

        void drop(Held held);

        void hold(Lease lease, SimulatedProcess process, List<SharedName> names, int permits, int limit);

        void met(RuntimeException failure);
    }

    private final World world;
    private final Chance chance;
    private final Host host;
    private final boolean queues;
    private final List<Own> owns = new ArrayList<>();
    private SimulatedProcess inside;

    ThreadUser(World world, Host host, boolean queues) {
        this.world = world;
        this.chance = world.chance();
        this.host = host;
        this.queues = queues;
    }

    /** The process in one of whose calls the thread is; null if it is in none. */
    SimulatedProcess inside() {
        return inside;
    }

    boolean hasNothing() {
        return owns.isEmpty();
    }

    /** The process has ended, and so has all that the thread had there. */
    void forget(SimulatedProcess process) {
        owns.removeIf(own -> own.process == process);
    }

    /** Takes a name in a process, or does something with the one that it has, which may park it. */
    void act(SimulatedProcess process, SharedName name, boolean isMutex, LockOptions how) {
        if (owns.isEmpty()) {
            in(process, () -> take(process, name, isMutex, how));
            return;
        }
        Own own = owns.get(0);
        if (world.now() < own.process.pausedUntil) {
            return;
        }
        switch (chance.below(7)) {
            case 0 -> in(own.process, () -> again(own));
            case 1 -> in(own.process, () -> read(own));
            case 2 -> in(own.process, () -> own.present().extend(Duration.ofMillis(100 + chance.below(3_000))));
            case 3 -> in(own.process, () -> await(own));
            default -> in(own.process, () -> unlock(own));
        }
    }

    /** Breaks a lock in a process, as exactly the claim that was seen. */
    void breakSeen(SimulatedProcess process, SharedName name, ResourceState.Entry seen) {
        in(process, () -> {
            world.note(process, "its thread breaks " + name);
            process.client().forceRelease(seen);
        });
    }

    /** Gives something up, unless it has nothing or is parked. */
    void giveUpSome() {
        if (!owns.isEmpty() && inside == null) {
            Own own = chance.of(owns);
            in(own.process, () -> unlock(own));
        }
    }

    private interface Call {
        void run() throws InterruptedException;
    }

    private void in(SimulatedProcess process, Call call) {
        inside = process;
        try {
            call.run();
        } catch (InterruptedException | ProcessDied ended) {
            world.note(process, "its thread was interrupted, or died");
        } catch (LockException honest) {
            host.met(honest);
        } finally {
            inside = null;
            Thread.interrupted();
        }
    }

    private void take(SimulatedProcess process, SharedName name, boolean isMutex, LockOptions how)
            throws InterruptedException {
        world.note(process, "its thread takes " + name);
        int limit = isMutex ? 1 : Claim.ALL;
        DistributedReadWriteLock pair = process.client().readWriteLock(name.toString(), how);
        DistributedLock exclusive = isMutex ? process.client().lock(name.toString(), how) : pair.writeLock();
        boolean writes = isMutex || chance.once(2);
        DistributedLock lock = writes ? exclusive : pair.readLock();
        long wait = 1 + chance.below(2_000);
        if (chance.once(4)) {
            Lease lease = lock.acquire(Duration.ofMillis(wait));
            host.hold(lease, process, List.of(name), writes ? limit : 1, limit);
        } else if (chance.once(3) ? lock.tryLock() : lock.tryLock(wait, TimeUnit.MILLISECONDS)) {
            Own own = new Own(process, name, exclusive, isMutex ? null : pair.readLock());
            own.writes = writes ? 1 : 0;
            own.reads = writes ? 0 : 1;
            owns.add(own);
            own.held = new Held(own, process, List.of(name), writes ? limit : 1, limit);
            host.hold(own.held);
            if (writes && !isMutex && chance.once(2)) {
                // At once, so that others who read here may join it.
                read(own);
                unlock(own);
            }
        }
    }

    private void again(Own own) {
        if (own.writes > 0) {
            own.exclusive.lock();
            own.writes++;
        } else {
            read(own);
        }
    }

    private void read(Own own) {
        if (own.shared != null) {
            own.shared.lock();
            own.reads++;
        }
    }

    // It comes back with all holds, as a new grant, or with none. If it has more than this lock, it could wait for
    // itself.
    private void await(Own own) throws InterruptedException {
        if (own.writes == 0 || own.reads > 0 || !queues) {
            return;
        }
        world.note(own.process, "its thread waits for a condition of " + own.name);
        Condition condition =
                chance.once(2) ? own.exclusive.condition(WAIT_SET.substring(1)) : own.exclusive.newCondition();
        long before = own.exclusive.token();
        owns.remove(own);
        host.drop(own.held);
        try {
            boolean signalled = condition.await(1 + chance.below(1_500), TimeUnit.MILLISECONDS);
            if (own.exclusive.token() <= before) {
                throw new AssertionError("The token is " + own.exclusive.token() + " after a wait, and was " + before);
            }
            world.note(own.process, signalled ? "its thread was signalled" : "its thread has waited long enough");
        } finally {
            goOn(own, before);
        }
    }

    private void goOn(Own own, long before) {
        int holds = own.process.dead || own.process.engine().isClosed() ? 0 : own.exclusive.holdCount();
        if (holds != 0 && holds != own.writes) {
            throw new AssertionError(own + " came back from a wait " + holds + " times");
        }
        if (holds > 0) {
            own.held = new Held(own, own.process, own.held.names(), own.held.permits(), own.held.limit());
            if (own.exclusive.token() == before) {
                // The wait did not begin, so that this is what was seen before.
                own.held.isSeenFirst();
            }
            owns.add(own);
            host.hold(own.held);
        }
    }

    private void unlock(Own own) {
        boolean write = own.writes > 0;
        DistributedLock lock = write ? own.exclusive : own.shared;
        own.writes -= write ? 1 : 0;
        own.reads -= write ? 0 : 1;
        boolean isOver = own.writes + own.reads == 0;
        boolean goesOnAsReader = write && own.writes == 0 && own.reads > 0;
        world.note(own.process, "its thread unlocks " + own);
        if (isOver || goesOnAsReader) {
            own.held.markReleased();
            host.drop(own.held);
        }
        if (isOver) {
            owns.remove(own);
        } else if (goesOnAsReader) {
            // It keeps the token of the writer, which was seen.
            own.held = new Held(own, own.process, own.held.names(), 1, Claim.ALL);
            own.held.isSeenFirst();
        }
        try {
            lock.unlock();
        } catch (LockLostException lost) {
            host.met(lost);
        }
        if (goesOnAsReader && owns.contains(own)) {
            host.hold(own.held);
        }
    }
}
