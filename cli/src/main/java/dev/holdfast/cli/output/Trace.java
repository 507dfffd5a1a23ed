package dev.holdfast.cli.output;

import java.io.PrintStream;

/** Prints for {@code -v} each step with the time since the tool's main method began. */
public final class Trace {

    private final boolean on;
    private final PrintStream err;
    private final long start;

    public Trace(boolean on, PrintStream err, long startNanos) {
        this.on = on;
        this.err = err;
        this.start = startNanos;
    }

    public void say(String what) {
        if (on) {
            long micros = (System.nanoTime() - start) / 1000;
            ErrorReport.say("+" + micros / 1000 + "." + micros % 1000 / 100 + " ms " + what, err);
        }
    }
}
