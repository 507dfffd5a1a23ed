package dev.holdfast.engine.simulation;

import java.util.ArrayList;
import java.util.List;

/** Whoever does work in a world: the store, or a process with a client. Its work is done in any order. */
class Party {

    /** A piece of work. */
    record Work(String what, Runnable task) {}

    private final String name;
    private final List<Work> ready = new ArrayList<>();
    /** Until then it does nothing, as a process that was stopped. */
    long pausedUntil;
    /** Whether it has ended, without a notice to anybody. */
    boolean dead;

    Party(String name) {
        this.name = name;
    }

    final void add(Work work) {
        if (!dead) {
            ready.add(work);
        }
    }

    /** How many pieces of work could be done now. */
    int ready() {
        return ready.size();
    }

    /** Takes one of these pieces. */
    Work take(int which) {
        Work last = ready.remove(ready.size() - 1);
        return which == ready.size() ? last : ready.set(which, last);
    }

    /** The true time at which it wants to do something by itself; {@link Long#MAX_VALUE} if it does not. */
    long wakesAt() {
        return Long.MAX_VALUE;
    }

    final void die() {
        dead = true;
        ready.clear();
    }

    @Override
    public String toString() {
        return name;
    }
}
