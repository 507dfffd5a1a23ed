package dev.holdfast.cli;

import java.io.PrintStream;

/** What {@code -v} tells: each step with the time since the tool's main method began. */
final class Trace {

    private final boolean on;
    private final PrintStream err;
    private final long start;

    Trace(boolean on, PrintStream err, long startNanos) {
        this.on = on;
        this.err = err;
        this.start = startNanos;
    }

    void say(String what) {
        if (on) {
            long micros = (System.nanoTime() - start) / 1000;
            err.println("holdfast: +" + micros / 1000 + "." + micros % 1000 / 100 + " ms " + what);
        }
    }
}
