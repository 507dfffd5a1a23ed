package dev.holdfast.internal.election;

import dev.holdfast.LossReason;
import dev.holdfast.election.Term;
import dev.holdfast.internal.hold.Hold;
import dev.holdfast.internal.time.Alarm;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A term: the hold that was won, and the tasks that run in it.
 *
 * <pre>
 *   LASTS --- end ---> ENDED --- listeners have returned, tasks have ended ---> DONE: the hold is released, if it was not before
 * </pre>
 */
final class ElectedTerm implements Term {

    /** A task that runs in the term. */
    private static final class Running {
        private final Thread thread = Thread.currentThread();
        /** Whether the end of the term has interrupted the thread. Guarded by the mutex. */
        private boolean interrupted;
    }

    private final Hold hold;
    private final ReentrantLock mutex = new ReentrantLock();
    /** Guarded by the mutex. */
    private final List<Running> tasks = new ArrayList<>(1);
    /** Whether the listeners of its end have returned. Guarded by the mutex. */
    private boolean concluded;
    /** Whether nothing of it goes on. Guarded by the mutex. */
    private boolean done;
    /** Completes when it is DONE and the hold was released. */
    private final CompletableFuture<@Nullable Void> released = new CompletableFuture<>();
    /** Releases the hold of one who hangs. */
    private final Alarm lateRelease;
    /** Whether listeners know of it. Used by callbacks only, which run one after the other. */
    private boolean announced;

    private volatile @Nullable LossReason ended;

    ElectedTerm(Hold hold) {
        this.hold = hold;
        this.lateRelease = new Alarm(hold::releaseAsync);
    }

    Hold hold() {
        return hold;
    }

    Alarm lateRelease() {
        return lateRelease;
    }

    CompletableFuture<@Nullable Void> released() {
        return released;
    }

    @Override
    public long token() {
        return hold.token();
    }

    @Override
    public boolean isValid() {
        return ended == null && hold.isValid();
    }

    @Override
    public Duration remaining() {
        return ended == null ? hold.remaining() : Duration.ZERO;
    }

    /** Why it has ended; null if nobody has ended it. */
    @Nullable
    LossReason ended() {
        return ended;
    }

    /** Ends it, and interrupts its tasks. False if it was ended before. */
    boolean end(LossReason reason) {
        mutex.lock();
        try {
            if (ended != null) {
                return false;
            }
            ended = reason;
            for (Running task : tasks) {
                task.interrupted = true;
                task.thread.interrupt();
            }
            return true;
        } finally {
            mutex.unlock();
        }
    }

    // ---- its tasks ----

    /** A task begins on the calling thread. False if the term is over. */
    boolean beginTask() {
        mutex.lock();
        try {
            return isValid() && tasks.add(new Running());
        } finally {
            mutex.unlock();
        }
    }

    /**
     * The task of the calling thread has ended. No interrupt of this term hits the thread any more, and one that has is cleared:
     * whoever else may have interrupted it in the same moment cannot be told from it.
     *
     * @return whether the end of the term has interrupted it
     */
    boolean endTask() {
        mutex.lock();
        try {
            Running mine =
                    tasks.stream().filter(ElectedTerm::isHere).findFirst().orElseThrow();
            tasks.remove(mine);
            if (mine.interrupted) {
                Thread.interrupted();
            }
            return mine.interrupted;
        } finally {
            mutex.unlock();
        }
    }

    private static boolean isHere(Running task) {
        return task.thread == Thread.currentThread();
    }

    /** Whether the calling thread runs a task of this term. */
    boolean isTaskRunningHere() {
        mutex.lock();
        try {
            return tasks.stream().anyMatch(ElectedTerm::isHere);
        } finally {
            mutex.unlock();
        }
    }

    // ---- its listeners ----

    void setAnnounced() {
        announced = true;
    }

    boolean isAnnounced() {
        return announced;
    }

    /** The listeners of its end have returned. */
    void setConcluded() {
        mutex.lock();
        try {
            concluded = true;
        } finally {
            mutex.unlock();
        }
    }

    /** Whether nothing of it goes on; true for one caller only. */
    boolean isDoneNow() {
        mutex.lock();
        try {
            boolean now = concluded && tasks.isEmpty() && !done;
            done |= now;
            return now;
        } finally {
            mutex.unlock();
        }
    }

    @Override
    public String toString() {
        LossReason reason = ended;
        return "Term[" + hold.spec().name() + ", token " + token() + ", " + (reason == null ? hold.state() : reason)
                + "]";
    }
}
