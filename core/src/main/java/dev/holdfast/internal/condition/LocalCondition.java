package dev.holdfast.internal.condition;

import dev.holdfast.internal.Engine;
import dev.holdfast.internal.time.Nanos;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/** A condition as the JDK means it: for threads of this JVM that use this object. No request is sent for it. */
public final class LocalCondition extends AbstractCondition {

    private final ReentrantLock mutex = new ReentrantLock();
    private final Queue<LocalPlace> places = new ArrayDeque<>();

    public LocalCondition(Engine engine, ConditionLock lock) {
        super(engine, lock);
    }

    /** The place of a thread. A signal has removed it from the queue; the close of the client only wakes the thread. */
    private final class LocalPlace implements Place {

        private final Thread thread = Thread.currentThread();
        private volatile boolean woken;

        @Override
        public boolean isWoken() {
            return woken;
        }

        private void wake() {
            woken = true;
            LockSupport.unpark(thread);
        }

        @Override
        public void close() {
            wake();
        }

        @Override
        public boolean leave() {
            engine.waitSets().remove(this);
            mutex.lock();
            try {
                return !places.remove(this);
            } finally {
                mutex.unlock();
            }
        }
    }

    @Override
    Place enter() {
        LocalPlace place = new LocalPlace();
        engine.waitSets().add(place);
        mutex.lock();
        try {
            places.add(place);
        } finally {
            mutex.unlock();
        }
        return place;
    }

    @Override
    long longestWait() {
        return Nanos.NEVER;
    }

    @Override
    void wake(boolean all) {
        mutex.lock();
        try {
            for (LocalPlace next = places.poll(); next != null; next = all ? places.poll() : null) {
                next.wake();
            }
        } finally {
            mutex.unlock();
        }
    }

    @Override
    void passOn() {
        wake(false);
    }

    @Override
    public String toString() {
        return "a condition of lock \"" + lock.spec().name() + "\"";
    }
}
