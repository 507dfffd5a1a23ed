package dev.holdfast.redis.jedis;

import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicBoolean;

/** Makes threads, the first of which cannot be started, as if the process had too many. */
final class UnstartableOnce implements ThreadFactory {

    private final AtomicBoolean failed = new AtomicBoolean();

    @Override
    public Thread newThread(Runnable work) {
        return new Thread(work) {
            @Override
            public void start() {
                if (failed.compareAndSet(false, true)) {
                    throw new OutOfMemoryError("unable to create native thread, by the test");
                }
                super.start();
            }
        };
    }
}
