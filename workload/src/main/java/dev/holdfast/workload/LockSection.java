package dev.holdfast.workload;

import java.util.concurrent.locks.Lock;

/** A lock as the JDK means it. */
public class LockSection implements Section {

    private final Lock lock;

    public LockSection(Lock lock) {
        this.lock = lock;
    }

    @Override
    public void enter() {
        lock.lock();
    }

    @Override
    public void leave() {
        lock.unlock();
    }
}
