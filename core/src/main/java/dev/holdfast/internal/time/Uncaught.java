package dev.holdfast.internal.time;

/** What code that must not fail has thrown all the same: the program's handler sees it, and the engine goes on. */
public final class Uncaught {

    private Uncaught() {}

    /** Hands a failure to the handler of the calling thread, whatever that handler does. */
    public static void report(Throwable failure) {
        Thread thread = Thread.currentThread();
        try {
            thread.getUncaughtExceptionHandler().uncaughtException(thread, failure);
        } catch (Throwable ofHandler) {
            // Nobody is left who could be notified. To add it to the failure needs memory, and fails if the
            // handler threw just that.
        }
    }
}
