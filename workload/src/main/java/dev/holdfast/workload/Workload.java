package dev.holdfast.workload;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.LongSupplier;

/** What is measured. Each has a name for the command line, a title, and how its crew works. */
public enum Workload {
    FREE_16("free-16", "16 threads of one process, each its own free lock", 1, 16),
    FREE("free", "a free lock, 1 thread", 1, 1),
    REENTRY("re-entry", "entering a lock that the thread holds", 1, 1),
    THREADS("threads", "16 threads of one process on one lock", 1, 16),
    PROCESSES("processes", "4 processes with 4 threads each on one lock", 4, 4),
    HAND_OFF("hand-off", "from one process to another: release call to acquire return", 2, 1),
    HAND_OFF_LATE("hand-off-late", "the same, after the taker has waited for 5 s; 4 pairs at a time", 8, 1),
    SIGNAL("signal", "a condition from one process to another: signal call to await return", 2, 1),
    HERD_4("herd-4", "4 clients with a thread each on one lock", 4, 1),
    HERD_16("herd-16", "16 clients with a thread each on one lock", 4, 4),
    HERD_64("herd-64", "64 clients with a thread each on one lock", 4, 16),
    HELD("held", "many locks held and renewed", 1, 1),
    HELD_AFTER_CHURN("held-after-churn", "the same, after a while of lock and unlock on another name", 1, 1),
    MIXED("mixed", "2 processes with 16 threads each, names by Zipf's law", 2, 16),
    READERS("readers", "2 processes with 8 threads each on one lock, 95 % readers", 2, 8);

    /** Locks that {@link #MIXED} and {@link #HELD} use. */
    public static final int LOCKS = 10_000;

    private static final long LATE_NANOS = 5_000_000_000L;
    private static final Duration PATIENCE = Duration.ofSeconds(100);

    private final String option;
    private final String title;
    private final int workers;
    private final int threads;

    Workload(String option, String title, int workers, int threads) {
        this.option = option;
        this.title = title;
        this.workers = workers;
        this.threads = threads;
    }

    /** The name on the command line. */
    public String option() {
        return option;
    }

    public String title() {
        return title;
    }

    /** How many processes it takes. */
    public int workers() {
        return workers;
    }

    /** How many clients each of them has: those of a herd have one for each thread. */
    public int clientsEach() {
        return name().startsWith("HERD") ? threads : 1;
    }

    /** The workload of this name. */
    public static Optional<Workload> named(String option) {
        for (Workload workload : values()) {
            if (workload.option.equals(option)) {
                return Optional.of(workload);
            }
        }
        return Optional.empty();
    }

    /** Whether it measures how long something takes from one process to another, instead of counting operations. */
    public boolean isHandOff() {
        return this == HAND_OFF || this == HAND_OFF_LATE || this == SIGNAL;
    }

    /** Whether it holds locks for a time, instead of counting operations. */
    public boolean isHeld() {
        return this == HELD || this == HELD_AFTER_CHURN;
    }

    /** Whether all its threads want the same lock. */
    public boolean isContended() {
        return switch (this) {
            case THREADS, PROCESSES, HERD_4, HERD_16, HERD_64, READERS -> true;
            default -> false;
        };
    }

    /**
     * How one run goes.
     *
     * @param time how long it takes; of the time that locks are held, the first third is not measured
     * @param churn how long {@link #HELD_AFTER_CHURN} locks and unlocks another name first
     * @param locks how many {@link #HELD} holds and {@link #MIXED} chooses from
     * @param prefix what the names begin with
     * @param requests the server's count of requests so far, negative if it does not report it; read before and
     *     after the measured part
     */
    public record Run(Duration time, Duration churn, int locks, String prefix, LongSupplier requests) {}

    /**
     * Runs it once. Workers that are missing are started.
     *
     * @throws IllegalStateException if a worker fails; the crew is of no use then
     */
    public Outcome run(Crew crew, Run run) throws IOException, InterruptedException {
        crew.ensureWorkers(workers, clientsEach());
        return switch (this) {
            case HAND_OFF -> handOff(crew, run, "hand-off", 0);
            case HAND_OFF_LATE -> handOff(crew, run, "hand-off", LATE_NANOS);
            case SIGNAL -> handOff(crew, run, "signal", 0);
            case HELD, HELD_AFTER_CHURN -> hold(crew, run);
            default -> loop(crew, run, workers, threads);
        };
    }

    /**
     * The same loop with other numbers of workers and threads; a worker has one client, unless more were asked for.
     */
    public Outcome loop(Crew crew, Run run, int workers, int threads) throws IOException, InterruptedException {
        List<Fields> orders = new ArrayList<>();
        for (int i = 0; i < workers; i++) {
            orders.add(order("loop", run)
                    .with("names", names())
                    .with("reentrant", this == REENTRY ? 1 : 0)
                    .with("threads", threads)
                    .with("first", (long) i * threads)
                    .with("locks", run.locks)
                    .with("seed", System.nanoTime()));
        }
        long before = run.requests.getAsLong();
        List<Fields> answers = crew.execute(orders, run.time.plus(PATIENCE));
        return Outcome.merge(answers, run.time.toNanos(), since(before, run));
    }

    private String names() {
        return switch (this) {
            case FREE, FREE_16, REENTRY -> "own";
            case MIXED -> "zipf";
            case READERS -> "mixed";
            default -> "one";
        };
    }

    private Outcome handOff(Crew crew, Run run, String what, long waitNanos) throws IOException, InterruptedException {
        List<Fields> orders = new ArrayList<>();
        for (int pair = 0; pair < workers / 2; pair++) {
            for (String role : List.of("giver", "taker")) {
                orders.add(order(what, run)
                        .with("role", role)
                        .with("pair", pair)
                        .with("waitNanos", waitNanos)
                        .with("seed", System.nanoTime()));
            }
        }
        long before = run.requests.getAsLong();
        List<Fields> answers = crew.execute(orders, run.time.plus(PATIENCE));
        return Outcome.merge(takers(answers), run.time.toNanos(), since(before, run));
    }

    private static List<Fields> takers(List<Fields> answers) {
        List<Fields> takers = new ArrayList<>();
        for (int i = 1; i < answers.size(); i += 2) {
            takers.add(answers.get(i));
        }
        return takers;
    }

    private Outcome hold(Crew crew, Run run) throws IOException, InterruptedException {
        Fields figures = new Fields();
        if (this == HELD_AFTER_CHURN) {
            figures.with(step(crew, run, "churn", run.churn));
        }
        figures.with(step(crew, run, "take", Duration.ZERO));
        // A new JVM compiles the code of renewals in the first seconds; that is not a cost of holding locks.
        Duration settling = run.time.dividedBy(3);
        step(crew, run, "watch", settling);
        long before = run.requests.getAsLong();
        figures.with(step(crew, run, "watch", run.time.minus(settling)));
        long requests = since(before, run);
        figures.with(step(crew, run, "drop", Duration.ZERO));
        figures.with("nanos", figures.whole("watchNanos"))
                .with("locks", run.locks)
                .with("operations", 0);
        return Outcome.of(requests < 0 ? figures : figures.with("requests", requests));
    }

    private static Fields step(Crew crew, Run run, String step, Duration time)
            throws IOException, InterruptedException {
        Fields order = order("hold", run)
                .with("step", step)
                .with("nanos", time.toNanos())
                .with("locks", run.locks);
        return crew.execute(List.of(order), time.plus(PATIENCE)).get(0);
    }

    private static Fields order(String what, Run run) {
        return new Fields().with("do", what).with("prefix", run.prefix).with("nanos", run.time.toNanos());
    }

    private static long since(long before, Run run) {
        long after = run.requests.getAsLong();
        return before < 0 || after < 0 ? -1 : after - before;
    }
}
