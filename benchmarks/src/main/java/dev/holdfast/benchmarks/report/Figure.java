package dev.holdfast.benchmarks.report;

import static dev.holdfast.workload.Workload.FREE;
import static dev.holdfast.workload.Workload.FREE_16;
import static dev.holdfast.workload.Workload.HAND_OFF;
import static dev.holdfast.workload.Workload.HAND_OFF_LATE;
import static dev.holdfast.workload.Workload.HELD;
import static dev.holdfast.workload.Workload.HELD_AFTER_CHURN;
import static dev.holdfast.workload.Workload.HERD_16;
import static dev.holdfast.workload.Workload.HERD_4;
import static dev.holdfast.workload.Workload.HERD_64;
import static dev.holdfast.workload.Workload.PROCESSES;
import static dev.holdfast.workload.Workload.THREADS;

import dev.holdfast.benchmarks.report.Results.Key;
import dev.holdfast.workload.Outcome;
import dev.holdfast.workload.Workload;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;

/** A target: a figure that was to be reached. */
public record Figure(String store, String what, boolean atMost, double bound, ToDoubleFunction<Results> measure) {

    public boolean isReached(double measured) {
        return atMost ? measured <= bound : measured >= bound;
    }

    public static List<Figure> all() {
        List<Figure> all = new ArrayList<>();
        redis(all);
        held(all, HELD);
        held(all, HELD_AFTER_CHURN);
        databases(all);
        zookeeper(all);
        etcd(all);
        memcached(all);
        return all;
    }

    private static void redis(List<Figure> all) {
        String store = "redis";
        all.add(atMost(store, "free lock: time of bare Jedis", 1.15, times(store, FREE, "holdfast", "floor")));
        all.add(atMost(store, "free lock: time of Redisson's", 0.6, times(store, FREE, "holdfast", "redisson")));
        all.add(atMost(store, "free lock: requests", 2.05, requests(store, FREE)));
        all.add(atMost(store, "free lock: bytes allocated", 4096, of(store, "holdfast", FREE, Outcome::bytesEach)));
        all.add(atLeast(
                store, "16 threads, 16 locks: rate of bare Jedis", 0.8, rates(store, FREE_16, "holdfast", "floor")));
        all.add(atLeast(
                store, "16 threads, one lock: rate of Redisson", 50, rates(store, THREADS, "holdfast", "redisson")));
        all.add(atLeast(store, "4 processes: rate of Redisson", 10, rates(store, PROCESSES, "holdfast", "redisson")));
        all.add(atMost(
                store,
                "4 processes: busiest by laziest",
                1.5,
                of(store, "holdfast", PROCESSES, Outcome::processShare)));
        all.add(atMost(
                store,
                "4 processes: longest wait by Redisson's p99",
                1,
                results -> results.worst(
                                key(store, "holdfast", PROCESSES),
                                outcome -> outcome.waits().max())
                        / results.median(
                                key(store, "redisson", PROCESSES),
                                outcome -> outcome.waits().at(0.99))));
        all.add(atLeast(
                store,
                "4 processes, fair: rate of Redisson's",
                2,
                rates(store, PROCESSES, "holdfast-fair", "redisson-fair")));
        all.add(atMost(
                store,
                "4 processes, fair: busiest by laziest thread",
                1.2,
                of(store, "holdfast-fair", PROCESSES, Outcome::threadShare)));
        all.add(atMost(store, "hand-off: time of Redisson's", 0.35, times(store, HAND_OFF, "holdfast", "redisson")));
        for (Workload herd : List.of(HERD_4, HERD_16, HERD_64)) {
            all.add(atMost(store, herd.title() + ": requests for each grant", 2.2, requests(store, herd)));
        }
    }

    private static void held(List<Figure> all, Workload workload) {
        String after = workload == HELD ? "" : " after churn";
        ToDoubleFunction<Outcome> seconds = outcome -> outcome.fields().whole("nanos") / 1e9;
        all.add(atMost(
                "redis",
                "10,000 held" + after + ": lost",
                0,
                of("redis", "holdfast", workload, outcome -> outcome.fields().whole("lost"))));
        all.add(atMost(
                "redis",
                "10,000 held" + after + ": requests per second",
                50,
                of(
                        "redis",
                        "holdfast",
                        workload,
                        outcome -> outcome.fields().real("requests") / seconds.applyAsDouble(outcome))));
        all.add(atMost(
                "redis",
                "10,000 held" + after + ": part of a core",
                0.06,
                of(
                        "redis",
                        "holdfast",
                        workload,
                        outcome -> outcome.fields().whole("cpuNanos") / 1e9 / seconds.applyAsDouble(outcome))));
        all.add(atMost(
                "redis",
                "10,000 held" + after + ": bytes of heap each",
                1024,
                of(
                        "redis",
                        "holdfast",
                        workload,
                        outcome -> outcome.fields().real("heapBytes")
                                / outcome.fields().whole("locks"))));
    }

    private static void databases(List<Figure> all) {
        String store = "postgres";
        all.add(atMost(store, "free lock: statements", 2.05, requests(store, FREE)));
        all.add(atMost(
                store, "free lock: time of bare upsert + update", 0.85, times(store, FREE, "holdfast", "floor")));
        all.add(atMost(store, "free lock: time of ShedLock's", 0.55, times(store, FREE, "holdfast", "shedlock-jdbc")));
        all.add(atMost(
                store, "free lock: time of Spring Integration's", 0.5, times(store, FREE, "holdfast", "spring-jdbc")));
        all.add(atMost(
                store,
                "free lock, relaxed: time of the bare pair",
                0.45,
                times(store, FREE, "holdfast-relaxed", "floor")));
        all.add(atMost(store, "hand-off after 5 s, polled: ms", 30, millis(store, HAND_OFF_LATE, "holdfast-poll")));
        all.add(atMost(store, "hand-off after 5 s, notified: ms", 5, millis(store, HAND_OFF_LATE, "holdfast")));
        all.add(atLeast(
                store,
                "16 threads, one lock: rate of Spring Integration",
                50,
                rates(store, THREADS, "holdfast", "spring-jdbc")));
        all.add(atMost(
                "mariadb", "free lock: time of the bare pair", 1.15, times("mariadb", FREE, "holdfast", "floor")));
        all.add(atMost("mariadb", "hand-off after 5 s, polled: ms", 30, millis("mariadb", HAND_OFF_LATE, "holdfast")));
        all.add(atMost(
                "sqlite",
                "free lock: microseconds",
                60,
                results -> 1e3 * millis("sqlite", FREE, "holdfast").applyAsDouble(results)));
    }

    private static void zookeeper(List<Figure> all) {
        String store = "zookeeper";
        String far = "zookeeper-far";
        all.add(atMost(store, "free lock: time of the bare recipe", 1.05, times(store, FREE, "holdfast", "floor")));
        all.add(atLeast(
                store, "16 threads, one lock: rate of Curator", 50, rates(store, THREADS, "holdfast", "curator")));
        all.add(atLeast(store, "4 processes: rate of Curator", 10, rates(store, PROCESSES, "holdfast", "curator")));
        all.add(atMost(
                store,
                "4 processes: busiest by laziest",
                1.5,
                of(store, "holdfast", PROCESSES, Outcome::processShare)));
        all.add(atMost(store, "hand-off: time of Curator's", 0.9, times(store, HAND_OFF, "holdfast", "curator")));
        all.add(atMost(
                store,
                "requests for each grant: 64 clients by 4",
                1.2,
                results -> results.requestsEach(key(store, "holdfast", HERD_64))
                        / results.requestsEach(key(store, "holdfast", HERD_4))));
        all.add(atMost(far, "free lock: time of Curator's", 0.7, times(far, FREE, "holdfast", "curator")));
        all.add(atMost(
                far,
                "semaphore: time of Curator's",
                0.35,
                times(far, FREE, "holdfast-semaphore", "curator-semaphore")));
        all.add(atMost(far, "hand-off: time of Curator's", 0.65, times(far, HAND_OFF, "holdfast", "curator")));
    }

    private static void etcd(List<Figure> all) {
        String store = "etcd";
        all.add(atMost(store, "free lock: time of bare jetcd", 1.05, times(store, FREE, "holdfast", "floor")));
        all.add(atMost(store, "free lock: time of bare jetcd (aim)", 0.6, times(store, FREE, "holdfast", "floor")));
        all.add(atLeast(store, "16 threads, one lock: rate of jetcd", 300, rates(store, THREADS, "holdfast", "jetcd")));
        all.add(atLeast(store, "4 processes: rate of jetcd", 80, rates(store, PROCESSES, "holdfast", "jetcd")));
        all.add(atMost(
                store,
                "4 processes: busiest by laziest",
                1.5,
                of(store, "holdfast", PROCESSES, Outcome::processShare)));
        all.add(atMost(
                store,
                "requests for each grant: 64 clients by 4",
                1.2,
                results -> results.requestsEach(key(store, "holdfast", HERD_64))
                        / results.requestsEach(key(store, "holdfast", HERD_4))));
        all.add(atMost("etcd-far", "free lock: time of jetcd's", 0.55, times("etcd-far", FREE, "holdfast", "jetcd")));
    }

    private static void memcached(List<Figure> all) {
        String store = "memcached";
        all.add(atMost(store, "free lock: time of bare Folsom", 1.2, times(store, FREE, "holdfast", "floor")));
        all.add(atMost(store, "free lock: commands", 3.05, requests(store, FREE)));
    }

    private static Figure atMost(String store, String what, double bound, ToDoubleFunction<Results> measure) {
        return new Figure(store, what, true, bound, measure);
    }

    private static Figure atLeast(String store, String what, double bound, ToDoubleFunction<Results> measure) {
        return new Figure(store, what, false, bound, measure);
    }

    private static Key key(String store, String label, Workload workload) {
        return new Key(store, label, workload);
    }

    private static ToDoubleFunction<Results> of(
            String store, String label, Workload workload, ToDoubleFunction<Outcome> figure) {
        return results -> results.median(key(store, label, workload), figure);
    }

    private static ToDoubleFunction<Results> requests(String store, Workload workload) {
        return results -> results.requestsEach(key(store, "holdfast", workload));
    }

    private static ToDoubleFunction<Results> millis(String store, Workload workload, String label) {
        return of(store, label, workload, outcome -> Results.typical(workload, outcome) / 1e6);
    }

    /** The median of the typical times, divided by that of another entrant. */
    private static ToDoubleFunction<Results> times(String store, Workload workload, String label, String other) {
        return results -> millis(store, workload, label).applyAsDouble(results)
                / millis(store, workload, other).applyAsDouble(results);
    }

    private static ToDoubleFunction<Results> rates(String store, Workload workload, String label, String other) {
        return results -> of(store, label, workload, Outcome::perSecond).applyAsDouble(results)
                / of(store, other, workload, Outcome::perSecond).applyAsDouble(results);
    }
}
