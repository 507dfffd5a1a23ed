package dev.holdfast.benchmarks.subject;

import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;

/** A connection for each thread, made when it is first used, and closed with all others. */
final class PerThread<T extends AutoCloseable> implements AutoCloseable {

    private final Queue<T> all = new ConcurrentLinkedQueue<>();
    private final ThreadLocal<T> mine;

    PerThread(Callable<T> maker) {
        mine = ThreadLocal.withInitial(() -> {
            try {
                T made = maker.call();
                all.add(made);
                return made;
            } catch (Exception failed) {
                throw new IllegalStateException(failed);
            }
        });
    }

    T get() {
        return mine.get();
    }

    @Override
    public void close() throws Exception {
        for (T one : all) {
            one.close();
        }
    }
}
