package dev.holdfast.benchmarks;

import dev.holdfast.benchmarks.server.Server;
import dev.holdfast.workload.Workload;
import java.util.EnumSet;
import java.util.Set;

/**
 * A library or floor that takes part in the runs on a store, and the workloads in which it does.
 *
 * @param label what the tables call it
 * @param subject what the worker opens, see {@link Peers}
 * @param suffix what is added to the store's URL; to the scheme of each server if it begins with a plus sign
 * @param isQuick whether it takes part in the quick run, too
 */
record Entrant(String label, String subject, String suffix, boolean isQuick, Set<Workload> workloads) {

    static Entrant of(String subject, Workload... workloads) {
        return new Entrant(subject, subject, "", false, Set.of(workloads));
    }

    /** An entrant for all workloads but {@code HAND_OFF_LATE}, and {@code SIGNAL}, which no other library has. */
    static Entrant forAll(String subject) {
        Set<Workload> all = EnumSet.allOf(Workload.class);
        all.remove(Workload.HAND_OFF_LATE);
        all.remove(Workload.SIGNAL);
        return new Entrant(subject, subject, "", true, all);
    }

    Entrant quick() {
        return new Entrant(label, subject, suffix, true, workloads);
    }

    Entrant and(Workload... more) {
        Set<Workload> all = EnumSet.copyOf(workloads);
        all.addAll(Set.of(more));
        return new Entrant(label, subject, suffix, isQuick, all);
    }

    Entrant without(Workload... fewer) {
        Set<Workload> all = EnumSet.copyOf(workloads);
        all.removeAll(Set.of(fewer));
        return new Entrant(label, subject, suffix, isQuick, all);
    }

    /** The same subject with a store option. */
    Entrant as(String label, String suffix) {
        return new Entrant(label, subject, suffix, isQuick, workloads);
    }

    /** Where it finds the store. */
    String target(Server server) {
        String address = isOurs() ? server.url() : server.target();
        return suffix.startsWith("+") ? address.replace("://", suffix + "://") : address + suffix;
    }

    boolean isOurs() {
        return subject.startsWith("holdfast");
    }
}
