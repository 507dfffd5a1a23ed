package dev.holdfast.benchmarks.soak;

import java.util.List;

/** Looks into a server beside Holdfast, with a client of its own, which it closes each time. Used by one thread at a time. */
interface Probe {

    /** A store without a server of its own, or one of whose contents Holdfast shows all. */
    Probe NONE = new Probe() {};

    /** How many keys, rows or nodes there are, idle ones included; negative if nobody counts them. */
    default long entries() {
        return -1;
    }

    /** Requests so far, where the {@link dev.holdfast.benchmarks.server.Server} does not count them for free; or negative. */
    default long requests() {
        return -1;
    }

    /** What is there and should not be while no client of Holdfast is open; each with what it is. */
    default List<String> residue() {
        return List.of();
    }
}
