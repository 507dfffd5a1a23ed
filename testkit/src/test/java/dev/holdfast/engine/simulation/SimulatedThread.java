package dev.holdfast.engine.simulation;

import dev.holdfast.internal.cohort.Waiter;
import dev.holdfast.internal.time.Wakeable;
import java.util.concurrent.Future;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/**
 * A thread of a process that does what users do. It is a real thread, since the engine asks which thread calls; but it runs only while
 * that of the world stands still, and gives the turn back when it is parked. So which one goes on is up to the chance of the world.
 */
final class SimulatedThread extends Thread {

    private static final int SPURIOUS_ONCE_IN = 20;
    private static final int LATE_ONCE_IN = 6;
    private static final int LOST_ONCE_IN = 6;
    private static final long MOST_SLOWNESS = 20 * Weather.MILLI;

    /** Nothing in a turn takes a time; so a thread that does not give it back waits for a lock that another one keeps while it is parked. */
    private static final long STUCK_SECONDS = 60;

    /** Its process was killed, or the world ends. */
    static final class Killed extends RuntimeException {
        private static final long serialVersionUID = 1;

        Killed() {
            super("A thread of a process that has died goes no further");
        }
    }

    private final World world;
    private final SimulatedProcess process;
    private final boolean takesLocks;
    private final int hash;
    private final Semaphore turn = new Semaphore(0);
    private final Semaphore turnOfWorld = new Semaphore(0);
    private Runnable call;
    private boolean isParked;
    private Object blocker;
    private long until;
    /** Whether it could have gone on before, and could not have a processor. */
    private boolean isLate;

    private long notBefore;
    private boolean interruptComes;
    private int interrupts;
    private int calls;
    private boolean killed;
    /** What was the last place in a wait set on which it was parked. */
    private Wakeable place;

    private Runnable whenResumed = () -> {};

    SimulatedThread(World world, SimulatedProcess process, int number, boolean takesLocks) {
        super(process + "-thread" + number);
        this.world = world;
        this.process = process;
        this.takesLocks = takesLocks;
        // The order in a table of threads must not be another one when the run is repeated.
        this.hash = world.plant() == Plant.THREADS_ARE_CONFUSED
                ? 0
                : 31 * process.toString().hashCode() + number;
        setDaemon(true);
        setUncaughtExceptionHandler((unused, failure) -> world.fail(failure));
        start();
    }

    @Override
    public int hashCode() {
        return hash;
    }

    @Override
    public boolean equals(Object other) {
        return this == other
                || (world.plant() == Plant.THREADS_ARE_CONFUSED
                        && other instanceof SimulatedThread thread
                        && thread.process == process);
    }

    // ---- for the world ----

    boolean isIdle() {
        return call == null;
    }

    /** Whether it may be in the local queue of a lock. */
    boolean takesLocks() {
        return takesLocks;
    }

    /** Whether the call in which it is now has ended; to be asked later. */
    BooleanSupplier isOver() {
        int present = calls;
        return () -> isIdle() || calls != present;
    }

    /** Whether it could go on. */
    boolean isDue() {
        return isParked && world.now() >= notBefore && (isLate || interruptComes || world.now() >= until || isWoken());
    }

    /** The true time at which it goes on by itself; {@link Long#MAX_VALUE} if it is not parked. */
    long wakesAt() {
        return !isParked ? Long.MAX_VALUE : isLate ? notBefore : until;
    }

    /** Begins a call, and comes back when it has ended or is parked. */
    void begin(Runnable next) {
        call = next;
        calls++;
        interrupts = 0;
        takeTurn();
    }

    /** Goes on after it was parked, until the call has ended or is parked again; or waits for a processor first. */
    void goOn() {
        if (!isLate && world.chance().once(LATE_ONCE_IN)) {
            isLate = true;
            notBefore = world.now() + world.chance().mostlyShort(MOST_SLOWNESS);
            return;
        }
        takeTurn();
    }

    /** Interrupts it as soon as it goes on. */
    @Override
    public void interrupt() {
        if (Thread.currentThread() == this) {
            super.interrupt();
        } else if (world.plant() != Plant.INTERRUPTS_ARE_LOST || !world.chance().once(LOST_ONCE_IN)) {
            interruptComes = true;
        }
    }

    /** Ends the thread. What it has in the engine it keeps. */
    void kill() {
        killed = true;
        if (!isIdle()) {
            takeTurn();
        }
        turn.release();
        try {
            join();
        } catch (InterruptedException impossible) {
            throw new AssertionError("Nobody interrupts the world", impossible);
        }
    }

    private void takeTurn() {
        isParked = false;
        isLate = false;
        turn.release();
        try {
            if (!turnOfWorld.tryAcquire(STUCK_SECONDS, TimeUnit.SECONDS)) {
                AssertionError stuck = new AssertionError(this + " is stuck behind a thread that was parked");
                stuck.setStackTrace(getStackTrace());
                throw stuck;
            }
        } catch (InterruptedException impossible) {
            throw new AssertionError("Nobody interrupts the world", impossible);
        }
    }

    // ---- for itself ----

    @Override
    public void run() {
        turn.acquireUninterruptibly();
        while (call != null) {
            try {
                call.run();
            } catch (Killed end) {
                world.note(this, "has died");
            } catch (Throwable failure) {
                world.fail(failure);
            }
            call = null;
            interruptComes = false;
            Thread.interrupted();
            giveTurn();
        }
    }

    private void giveTurn() {
        turnOfWorld.release();
        turn.acquireUninterruptibly();
    }

    /** Lets others go on until it is woken, or so much true time has passed. */
    void park(Object on, long nanos) {
        if (!pause(on, world.chance().once(SPURIOUS_ONCE_IN) ? world.chance().mostlyShort(nanos) : nanos)) {
            throw new Killed();
        }
        whenResumed.run();
    }

    /** It is slow: others go on for a while. */
    void beSlow() {
        pause(null, world.chance().mostlyShort(MOST_SLOWNESS));
    }

    // Returns false if it must end.
    private boolean pause(Object on, long nanos) {
        if (killed) {
            return false;
        }
        blocker = on;
        until = world.now() + nanos;
        if (isPlace(on)) {
            place = (Wakeable) on;
        }
        notBefore = world.now();
        isParked = true;
        giveTurn();
        blocker = null;
        if (interruptComes) {
            interruptComes = false;
            interrupts++;
            super.interrupt();
        }
        return !killed;
    }

    private static boolean isPlace(Object blocker) {
        return blocker instanceof Wakeable && !(blocker instanceof Waiter);
    }

    private boolean isWoken() {
        return (blocker instanceof Wakeable wakeable && wakeable.isWoken())
                || (blocker instanceof Future<?> future && future.isDone());
    }

    /** How often it was interrupted in the present call. */
    int interrupts() {
        return interrupts;
    }

    /** The place in a wait set where it waits, or has waited last in the present call; null if there is none. */
    Wakeable place() {
        return place;
    }

    /** Whether it is parked for a lock, and has neither got it nor given up. */
    boolean waitsInQueue() {
        return isParked && blocker instanceof Waiter waiter && !waiter.isDone();
    }

    /** Whether it waits there, and nobody has woken it. */
    boolean isAsleep() {
        return isParked && isPlace(blocker) && !isWoken();
    }

    /** It begins to wait for a condition. */
    void entersWaitSet(Runnable look) {
        place = null;
        whenResumed = look;
    }

    /** Waits no more. */
    void leavesWaitSet() {
        whenResumed = () -> {};
    }

    @Override
    public String toString() {
        return getName();
    }
}
