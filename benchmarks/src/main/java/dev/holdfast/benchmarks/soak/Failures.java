package dev.holdfast.benchmarks.soak;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** What went wrong while the stores were used. Thread-safe. */
final class Failures {

    private static final int MOST_KEPT = 10;

    private final AtomicInteger count = new AtomicInteger();
    private final List<String> first = new ArrayList<>();

    void add(String where, Throwable failure) {
        count.incrementAndGet();
        StringWriter text = new StringWriter();
        failure.printStackTrace(new PrintWriter(text));
        keep(where + ": " + text);
    }

    private synchronized void keep(String text) {
        if (first.size() < MOST_KEPT) {
            first.add(text);
        }
    }

    int count() {
        return count.get();
    }

    /** The first ones, with their stack traces. */
    synchronized List<String> first() {
        return List.copyOf(first);
    }
}
