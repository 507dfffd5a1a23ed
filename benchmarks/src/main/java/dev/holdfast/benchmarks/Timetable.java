package dev.holdfast.benchmarks;

import dev.holdfast.workload.Workload;
import java.time.Duration;
import java.util.List;

/**
 * How long each part of a run takes, so that all of it ends within a budget: all parts that can be shortened are
 * shortened by one factor.
 *
 * @param scale 1 for the full times
 * @param longWarmUp how long each entrant is warmed up for each workload with a rate; zero if that goes by the workload
 */
record Timetable(boolean quick, double scale, Duration longWarmUp) {

    private static final double SLOT_SECONDS = 2;
    /** After a long warm-up, so that what is compiled once more in a round is a small part of it. */
    private static final double WARM_SLOT_SECONDS = 5;
    /** How long the compilers of several JVMs need on two cores. It is never shortened in a full run. */
    private static final double PROCESSES_WARM_UP = 24;

    private static final double WARM_UP_PART = 2;
    private static final double WARM_UP_MOST = 20;
    /** How long a worker process needs until its JVM and its client are ready. */
    private static final double START_SECONDS = 0.7;

    private static final double SERVER_SECONDS = 4;

    /** The smallest scale: with a smaller one the rounds would be too short to show anything. */
    private static final double LEAST_SCALE = 0.1;
    /** The shortest round of what users compare first: shorter ones do not show differences of a tenth. */
    private static final double LEAST_SECONDS = 1;

    Timetable(boolean quick, double scale) {
        this(quick, scale, Duration.ZERO);
    }

    /** The timetable that fits a plan into a budget. */
    static Timetable within(
            Duration budget, boolean quick, Duration longWarmUp, List<Field> fields, List<Workload> workloads) {
        Timetable table = new Timetable(quick, 1, longWarmUp);
        while (table.scale > LEAST_SCALE && seconds(table, fields, workloads) > budget.toSeconds()) {
            table = new Timetable(quick, Math.max(LEAST_SCALE, table.scale - LEAST_SCALE / 10), longWarmUp);
        }
        return table;
    }

    /** How long a plan takes. */
    static double seconds(Timetable table, List<Field> fields, List<Workload> workloads) {
        double sum = 0;
        for (Field field : fields) {
            List<Entrant> entrants = field.entrants().stream()
                    .filter(entrant -> !table.quick || entrant.isQuick())
                    .toList();
            sum += entrants.isEmpty() ? 0 : SERVER_SECONDS;
            for (Entrant entrant : entrants) {
                int workers = 0;
                for (Workload workload : workloads) {
                    if (entrant.workloads().contains(workload)) {
                        sum += table.secondsOf(workload);
                        workers = Math.max(workers, workload.workers());
                    }
                }
                sum += workers * START_SECONDS;
            }
        }
        return sum;
    }

    private double secondsOf(Workload workload) {
        double churn = workload == Workload.HELD_AFTER_CHURN ? churn().toMillis() / 1e3 : 0;
        double overhead = workload.isHeld() ? 2 * START_SECONDS + (quick ? 2 : 15) : 0.2 * (rounds(workload) + 1);
        return expectedWarmUp(workload)
                + (1 + rounds(workload) - firstRound(workload)) * slot(workload).toMillis() / 1e3
                + counting().toMillis() / 1e3
                + churn
                + overhead;
    }

    // Most entrants are warm after two parts, some need all the time that there is.
    private double expectedWarmUp(Workload workload) {
        double least = warmUp(workload).toMillis() / 1e3;
        return warmUpAtMost(workload).equals(warmUp(workload)) ? least : 3 * least;
    }

    boolean includes(Workload workload) {
        return !quick
                || switch (workload) {
                    case HAND_OFF_LATE, HELD_AFTER_CHURN, HERD_64 -> false;
                    default -> true;
                };
    }

    int rounds(Workload workload) {
        return workload.isHeld() || workload == Workload.HAND_OFF_LATE ? 1 : 3;
    }

    /**
     * The first round; below 1 it belongs to the warm-up. An entrant that has stood still while others were warmed up, and
     * begins anew with locks that it has not used yet, has some of its code compiled once more. A long warm-up is to end that, too.
     */
    int firstRound(Workload workload) {
        return longWarmUp.isZero() || warmUp(workload).isZero() ? 1 : 0;
    }

    Duration slot(Workload workload) {
        double most = longWarmUp.isZero() ? SLOT_SECONDS : WARM_SLOT_SECONDS;
        return switch (workload) {
            case HELD, HELD_AFTER_CHURN -> seconds(quick ? 3 : 24);
            case HAND_OFF_LATE -> seconds(quick ? 11 : 21);
            case REENTRY -> seconds(quick ? 0.15 : 0.5);
            case FREE, FREE_16, HAND_OFF, HERD_4, HERD_16, HERD_64 ->
                seconds(quick ? 0.35 * scale : Math.max(LEAST_SECONDS, most * scale));
            default -> seconds((quick ? 0.35 : most) * Math.max(0.15, scale));
        };
    }

    /** The warm-up, or one part of it if it may go on: see {@link #warmUpAtMost}. */
    Duration warmUp(Workload workload) {
        return switch (workload) {
            case HELD, HELD_AFTER_CHURN, HAND_OFF_LATE -> Duration.ZERO;
            default -> longWarmUp.isZero() ? shortWarmUp(workload) : longWarmUp;
        };
    }

    private Duration shortWarmUp(Workload workload) {
        return switch (workload) {
            case PROCESSES -> seconds(quick ? 2 * scale : PROCESSES_WARM_UP);
            case FREE_16, FREE -> seconds(quick ? 0.7 * scale : WARM_UP_PART);
            case THREADS -> seconds((quick ? 0.7 : 4) * scale);
            default -> seconds((quick ? 0.3 : 2) * scale);
        };
    }

    /**
     * How long the warm-up may go on. It is longer than one part only in the workloads that nearly all entrants run
     * first, which have the most operations: there the compilers do their work.
     */
    Duration warmUpAtMost(Workload workload) {
        return switch (workload) {
            case FREE_16, FREE -> quick || !longWarmUp.isZero() ? warmUp(workload) : seconds(WARM_UP_MOST);
            default -> warmUp(workload);
        };
    }

    /** How long requests are counted, where counting would change the times. */
    Duration counting() {
        return seconds(quick ? 0.2 : 0.4);
    }

    Duration churn() {
        return seconds(20);
    }

    int locks() {
        return quick ? 1_000 : Workload.LOCKS;
    }

    private static Duration seconds(double seconds) {
        return Duration.ofMillis((long) (seconds * 1e3));
    }
}
