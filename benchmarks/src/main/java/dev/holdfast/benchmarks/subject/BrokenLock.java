package dev.holdfast.benchmarks.subject;

import dev.holdfast.workload.Section;
import dev.holdfast.workload.Subject;

/** A lock that excludes nobody: the tests of the harness run it to see that overlapping holders are found. */
public final class BrokenLock implements Subject {

    @Override
    public Section mutex(String name) {
        // Neither waits nor yields: where all threads share one busy core, an overlap is seen only if a thread is
        // preempted inside, and threads that yield outside are hardly ever preempted.
        return new Section() {
            @Override
            public void enter() {}

            @Override
            public void leave() {}
        };
    }

    @Override
    public Section reader(String name) {
        return mutex(name);
    }

    @Override
    public Section writer(String name) {
        return mutex(name);
    }

    @Override
    public void close() {}
}
