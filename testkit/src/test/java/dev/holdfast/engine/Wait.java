package dev.holdfast.engine;

import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waits for a condition by polling. If the condition does not hold in time, the failure names it. */
final class Wait {

    /** The longest wait, in seconds of real time. With a smaller value, a test that finds a defect fails sooner. */
    static final int LONGEST_SECONDS = Integer.getInteger("holdfast.await", 60);

    private static final long LONGEST_NANOS = TimeUnit.SECONDS.toNanos(LONGEST_SECONDS);
    private static final long SPINS = 50;
    private static final long POLL_NANOS = 500_000;

    private Wait() {}

    static void until(String what, BooleanSupplier condition) {
        long begun = System.nanoTime();
        for (long polls = 0; !condition.getAsBoolean(); polls++) {
            if (System.nanoTime() - begun > LONGEST_NANOS) {
                throw new AssertionError(
                        "Waited for " + LONGEST_SECONDS + " s in vain until " + what + "\n" + threads());
            }
            if (polls < SPINS) {
                Thread.onSpinWait();
            } else {
                LockSupport.parkNanos(POLL_NANOS);
                Thread.interrupted();
            }
        }
    }

    /** The stack traces of all threads. */
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
