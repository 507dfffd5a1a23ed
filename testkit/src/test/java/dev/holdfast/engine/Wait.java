package dev.holdfast.engine;

import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for something by looking again and again, and tells what it waited for in vain. */
final class Wait {

    /** How long anything is waited for, in seconds of real time; a test that fails at a defect is then sooner done. */
    static final int LONGEST_SECONDS = Integer.getInteger("holdfast.await", 60);

    private static final long LONGEST_NANOS = TimeUnit.SECONDS.toNanos(LONGEST_SECONDS);
    private static final long SPINS = 50;
    private static final long POLL_NANOS = 500_000;

    private Wait() {}

    static void until(String what, BooleanSupplier condition) {
        long begun = System.nanoTime();
        for (long looks = 0; !condition.getAsBoolean(); looks++) {
            if (System.nanoTime() - begun > LONGEST_NANOS) {
                throw new AssertionError(
                        "Waited for " + LONGEST_SECONDS + " s in vain until " + what + "\n" + threads());
            }
            if (looks < SPINS) {
                Thread.onSpinWait();
            } else {
                LockSupport.parkNanos(POLL_NANOS);
                Thread.interrupted();
            }
        }
    }

    /** What all threads do. */
    static String threads() {
        StringBuilder text = new StringBuilder();
        for (Map.Entry<Thread, StackTraceElement[]> entry :
                Thread.getAllStackTraces().entrySet()) {
            text.append(entry.getKey()).append('\n');
            for (StackTraceElement frame : entry.getValue()) {
                text.append("    ").append(frame).append('\n');
            }
        }
        return text.toString();
    }
}
