package dev.holdfast.testkit.nemesis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.testkit.HistoryChecker;
import dev.holdfast.testkit.process.ServerClock;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Processes that add to one set under one lock, each through {@link dev.holdfast.Holdfast#connect} and a line of its own, while a
 * {@link Nemesis} does its worst. The set is kept by the test and not by the store, and refuses stale tokens. Checked is:
 *
 * <ul>
 *   <li>no element that was added is lost, although stale writes were tried;
 *   <li>no two processes knew at once that they held, unless the store's page allows that for such faults;
 *   <li>whoever asked when a grant was known has a larger token than that;
 *   <li>when all faults are healed, each process adds again, and nobody waits for ever meanwhile.
 * </ul>
 *
 * <p>There are as many faults as kinds, each once, or {@code -Dholdfast.faults.injections=NUMBER}. Used by one thread.
 */
public final class FaultRun implements AutoCloseable {

    /** The system property with the number of faults to inject. */
    public static final String INJECTIONS = "holdfast.faults.injections";

    private static final int MEMBERS_OF_A_SHORT_RUN = 3;
    private static final int MEMBERS_OF_A_LONG_RUN = 8;
    private static final long LOOK_NANOS = 2_000_000;

    private final Scenario scenario;
    private final SharedSet set;
    private final HistoryChecker history = new HistoryChecker(1);
    private final List<Member> members = new CopyOnWriteArrayList<>();
    private final CompletableFuture<Void> failure = new CompletableFuture<>();
    private final Nemesis nemesis;
    private final AtomicInteger troubles = new AtomicInteger();

    /**
     * What came out of a run.
     *
     * @param faults how many of each kind were injected
     * @param writes how often the set was written
     * @param stale how many writes came with a stale token
     * @param lost how many elements that were written are not in the set
     */
    public record Outcome(Map<Injection, Integer> faults, int writes, int stale, int lost) {}

    private FaultRun(Scenario scenario) {
        this.scenario = scenario;
        this.set = new SharedSet(scenario.isFenced());
        this.nemesis = new Nemesis(scenario, set, members, this::add);
    }

    /** Runs a scenario, and checks what came out. */
    public static Outcome run(Scenario scenario) {
        try (FaultRun run = new FaultRun(scenario)) {
            return run.run();
        }
    }

    private void add() {
        members.add(new Member(scenario, set, history, new Member.Events() {
            @Override
            public void afterRead(Member holder) {
                nemesis.afterRead(holder);
            }

            @Override
            public void trouble() {
                troubles.incrementAndGet();
            }

            @Override
            public void failed(Throwable cause) {
                failure.completeExceptionally(cause);
            }
        }));
    }

    private Outcome run() {
        Integer wanted = Integer.getInteger(INJECTIONS);
        int injections = wanted == null ? nemesis.kinds() : wanted;
        for (int i = 0; i < (wanted == null ? MEMBERS_OF_A_SHORT_RUN : MEMBERS_OF_A_LONG_RUN); i++) {
            add();
        }
        awaitAllAdd("the start");
        long begun = System.nanoTime();
        inject(injections);
        long seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begun);
        await(
                () -> {
                    nemesis.calmDown();
                    return nemesis.isCalm();
                },
                "not all faults were over");
        awaitAllAdd("all faults were healed");
        members.forEach(Member::end);
        Outcome outcome = new Outcome(nemesis.counts(), set.writes(), set.stale(), set.lost());
        System.out.println(nemesis.injected() + " faults in " + seconds + " s at "
                + scenario.url(0).replaceAll(":/.*", "") + ": " + outcome + ", " + history.size()
                + " holds, " + troubles + " errors");
        check(outcome);
        return outcome;
    }

    private void inject(int injections) {
        int writes = set.writes();
        long since = System.nanoTime();
        while (nemesis.injected() < injections || !nemesis.hasInjectedEachKind()) {
            nemesis.act();
            failNow();
            if (set.writes() > writes) {
                writes = set.writes();
                since = System.nanoTime();
            }
            if (System.nanoTime() - since > Member.PATIENCE.toNanos()) {
                throw new AssertionError("Nobody has added anything for " + Member.PATIENCE + " after "
                        + nemesis.counts() + ". " + lastWords());
            }
            LockSupport.parkNanos(LOOK_NANOS);
        }
    }

    private void awaitAllAdd(String after) {
        long since = System.nanoTime();
        await(
                () -> members.stream().allMatch(member -> member.hasAddedSince(since)),
                "not all have added something after " + after);
    }

    private void await(BooleanSupplier condition, String otherwise) {
        long deadline = System.nanoTime() + Member.PATIENCE.toNanos();
        while (!condition.getAsBoolean()) {
            failNow();
            if (System.nanoTime() - deadline > 0) {
                throw new AssertionError("Within " + Member.PATIENCE + " " + otherwise + ", after " + nemesis.counts()
                        + ". " + lastWords());
            }
            LockSupport.parkNanos(LOOK_NANOS);
        }
    }

    private void failNow() {
        if (failure.isCompletedExceptionally()) {
            failure.join();
        }
    }

    private String lastWords() {
        StringBuilder all = new StringBuilder();
        members.forEach(member -> all.append(System.lineSeparator()).append(member.lastWords()));
        return all.toString();
    }

    private void check(Outcome outcome) {
        history.checkTokensInTime();
        if (scenario.excludes()) {
            history.check();
        }
        assertThat(outcome.stale())
                .as("writes with stale tokens: each holder that was frozen until others had written tries one")
                .isGreaterThanOrEqualTo(outcome.faults().getOrDefault(Injection.FREEZE_HOLDER, 0));
        ServerClock clock = scenario.clock();
        assertThat(clock == null || clock.isUsed())
                .as("whether the server reads the clock that was set")
                .isTrue();
        assertThat(outcome.lost()).as("elements that were added and are lost").isZero();
    }

    @Override
    public void close() {
        members.forEach(Member::end);
        nemesis.leaveServerWell();
    }
}
