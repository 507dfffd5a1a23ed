package dev.holdfast.engine.simulation;

import java.util.ArrayDeque;
import java.util.Deque;

/** The last lines of what has happened in a world, for people. */
final class Trace {

    private static final int MOST = 60;

    private final Deque<String> lines = new ArrayDeque<>();

    void add(long now, Object who, String what) {
        if (lines.size() == MOST) {
            lines.removeFirst();
        }
        lines.addLast(String.format("%12.3f ms  %s: %s", now / 1e6, who, what));
    }

    @Override
    public String toString() {
        return String.join(System.lineSeparator(), lines);
    }
}
