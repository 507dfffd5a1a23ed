package dev.holdfast.benchmarks.election;

import dev.holdfast.benchmarks.server.ZooKeeperNode;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.TimeUnit;

/**
 * How long it takes from the death of a leader, and from its resignation, to the next one: Holdfast's elections on ZooKeeper beside
 * Curator's {@code LeaderLatch} and {@code LeaderSelector}, on one server and with one session time-out. Each has three processes of
 * its own; the rounds of what is compared are interleaved. Prints a Markdown table.
 *
 * <pre>
 *   java -cp benchmarks/target/app/holdfast-benchmarks.jar dev.holdfast.benchmarks.election.FailOver [ROUNDS [SEED]]
 * </pre>
 *
 * <p>Times are those of {@link System#nanoTime()}, which is one clock for all processes on Linux. A round kills at a random moment,
 * since what is left of a session depends on when its client has reported last.
 */
public final class FailOver {

    static final int SESSION_MILLIS = 6_000;

    private static final int DEFAULT_ROUNDS = 11;
    private static final int PROCESSES = 3;

    /** How often a client reports to the server, about: a third of its session. */
    private static final long REPORT_NANOS = TimeUnit.MILLISECONDS.toNanos(SESSION_MILLIS / 3);

    /** One recipe: the processes that stand, and what was measured, in nanoseconds. */
    private record Candidates(
            Recipe recipe, List<CandidateProcess> standing, List<Long> afterDeath, List<Long> afterResignation) {

        private Candidates(Recipe recipe) {
            this(recipe, new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
        }
    }

    private final ZooKeeperNode server;
    private final Random random;
    private final List<Candidates> all =
            Arrays.stream(Recipe.values()).map(Candidates::new).toList();

    private FailOver(ZooKeeperNode server, long seed) {
        this.server = server;
        this.random = new Random(seed);
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        int rounds = args.length > 0 ? Integer.parseInt(args[0]) : DEFAULT_ROUNDS;
        long seed = args.length > 1 ? Long.parseLong(args[1]) : System.nanoTime();
        try (ZooKeeperNode server = new ZooKeeperNode()) {
            FailOver measurement = new FailOver(server, seed);
            System.out.printf(
                    Locale.ROOT,
                    "%s, session time-out %d ms, %d candidates each, %d rounds, seed %d, JDK %s, %d cores, load %.1f%n%n",
                    server.describe(),
                    SESSION_MILLIS,
                    PROCESSES,
                    rounds,
                    seed,
                    Runtime.version(),
                    Runtime.getRuntime().availableProcessors(),
                    load());
            try {
                measurement.run(rounds);
            } finally {
                measurement.all.forEach(each -> each.standing().forEach(CandidateProcess::close));
            }
            measurement.print();
            System.out.printf(Locale.ROOT, "%nLoad at the end %.1f%n", load());
        }
    }

    private static double load() {
        return ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage();
    }

    private void run(int rounds) throws IOException, InterruptedException {
        for (Candidates each : all) {
            for (int i = 0; i < PROCESSES; i++) {
                join(each);
            }
            leader(each, 0);
        }
        // The first round warms the processes up.
        for (int round = 0; round <= rounds; round++) {
            for (Candidates each : all) {
                long resignation = resign(each);
                long death = kill(each);
                if (round > 0) {
                    each.afterResignation().add(resignation);
                    each.afterDeath().add(death);
                }
            }
        }
    }

    private void join(Candidates candidates) throws IOException {
        candidates.standing().add(CandidateProcess.start(candidates.recipe(), server));
    }

    private long kill(Candidates candidates) throws IOException, InterruptedException {
        // On a busy machine a process takes many seconds to start. Until then there may be nobody who could lead.
        for (CandidateProcess each : candidates.standing()) {
            each.awaitStanding();
        }
        CandidateProcess leader = leader(candidates, 0);
        TimeUnit.NANOSECONDS.sleep((long) (random.nextDouble() * REPORT_NANOS));
        long killed = System.nanoTime();
        leader.close();
        candidates.standing().remove(leader);
        long next = leader(candidates, killed).ledSince();
        join(candidates);
        return next - killed;
    }

    private long resign(Candidates candidates) throws InterruptedException {
        CandidateProcess leader = leader(candidates, 0);
        long asked = leader.resign();
        return leader(candidates, asked).ledSince() - asked;
    }

    /** Waits until one of them has begun to lead after a time. */
    private CandidateProcess leader(Candidates candidates, long after) throws InterruptedException {
        long giveUp = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (System.nanoTime() < giveUp) {
            CandidateProcess newest = null;
            for (CandidateProcess one : candidates.standing()) {
                if (one.ledSince() > after && (newest == null || one.ledSince() > newest.ledSince())) {
                    newest = one;
                }
            }
            if (newest != null) {
                return newest;
            }
            TimeUnit.MILLISECONDS.sleep(1);
        }
        throw new IllegalStateException("Nobody leads with " + candidates.recipe());
    }

    private void print() {
        System.out.println(
                "| | next leader after a death: median | least | most | after a resignation: median | most |");
        System.out.println("| --- | --- | --- | --- | --- | --- |");
        all.forEach(each -> System.out.printf(
                Locale.ROOT,
                "| %s | %.2f s | %.2f s | %.2f s | %.1f ms | %.1f ms |%n",
                each.recipe().title(),
                at(each.afterDeath(), 0.5) / 1e9,
                at(each.afterDeath(), 0) / 1e9,
                at(each.afterDeath(), 1) / 1e9,
                at(each.afterResignation(), 0.5) / 1e6,
                at(each.afterResignation(), 1) / 1e6));
    }

    private static double at(List<Long> values, double quantile) {
        List<Long> sorted = values.stream().sorted().toList();
        return sorted.get((int) Math.min(sorted.size() - 1, Math.floor(quantile * sorted.size())));
    }
}
