package dev.holdfast.store;

import java.util.concurrent.ThreadFactory;
import org.jspecify.annotations.Nullable;

/** Threads that a store keeps in the background. They never keep a JVM from its end. */
public final class DaemonThreads {

    private DaemonThreads() {}

    /**
     * Starts one. Those who need it are in the midst of something that must come to its end, so this does not fail if the process
     * has too many threads, or too little memory for one more: whoever needs it next tries again.
     *
     * @param threads makes the thread
     * @return null if it could not be started
     */
    public static @Nullable Thread start(ThreadFactory threads, Runnable work, String name) {
        try {
            Thread thread = threads.newThread(work);
            thread.setName(name);
            thread.setDaemon(true);
            thread.start();
            return thread;
        } catch (OutOfMemoryError tooManyThreads) {
            return null;
        }
    }
}
