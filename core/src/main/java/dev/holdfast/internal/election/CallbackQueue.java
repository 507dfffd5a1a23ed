package dev.holdfast.internal.election;

import dev.holdfast.internal.Callbacks;
import dev.holdfast.internal.time.Uncaught;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** Runs code of the user's on the executor for it, one piece after the other, in their order. What one throws stops no other. */
final class CallbackQueue {

    private final Callbacks callbacks;
    private final ReentrantLock mutex = new ReentrantLock();
    /** Guarded by the mutex. */
    private final Queue<Runnable> waiting = new ArrayDeque<>();
    /** Whether a piece runs or will run. Guarded by the mutex. */
    private boolean running;
    /** The thread on which a piece runs. */
    private volatile @Nullable Thread thread;

    CallbackQueue(Callbacks callbacks) {
        this.callbacks = callbacks;
    }

    void run(Runnable code) {
        mutex.lock();
        try {
            waiting.add(code);
            if (running) {
                return;
            }
            running = true;
        } finally {
            mutex.unlock();
        }
        callbacks.run(this::runNext);
    }

    /** Completes when all that runs or waits now has returned. */
    CompletableFuture<@Nullable Void> drained() {
        CompletableFuture<@Nullable Void> drained = new CompletableFuture<>();
        run(() -> drained.complete(null));
        return drained;
    }

    /** Whether a piece runs or will run. */
    boolean isBusy() {
        mutex.lock();
        try {
            return running;
        } finally {
            mutex.unlock();
        }
    }

    /** Whether the calling thread runs a piece of this queue. */
    boolean isRunningHere() {
        return thread == Thread.currentThread();
    }

    // One piece for each task of the executor, so that an executor that others use too can serve them in between.
    private void runNext() {
        Runnable code = next();
        if (code == null) {
            return;
        }
        thread = Thread.currentThread();
        guard(code);
        thread = null;
        mutex.lock();
        try {
            running = !waiting.isEmpty();
            if (!running) {
                return;
            }
        } finally {
            mutex.unlock();
        }
        callbacks.run(this::runNext);
    }

    private @Nullable Runnable next() {
        mutex.lock();
        try {
            return waiting.poll();
        } finally {
            mutex.unlock();
        }
    }

    /** Runs code of the user's; what it throws, also an Error, is reported to the handler of the thread. */
    static void guard(Runnable code) {
        try {
            code.run();
        } catch (Throwable theirs) {
            Uncaught.report(theirs);
        }
    }
}
