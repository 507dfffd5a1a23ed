package dev.holdfast.testkit.model;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreTraits;
import dev.holdfast.spi.StoreTraits.Kinds;
import dev.holdfast.spi.StoreTraits.Liveness;
import dev.holdfast.testkit.law.StoreFixture;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.IntFunction;

/**
 * A long random run on a store and in parallel on the {@link PlainStore plain model} of the laws. After every
 * operation the answers, the order of the grants, and the inspected states of the name must be the same.
 *
 * <p>The run also counts the events that it has met. It fails if one of expiry, cancellation, dead waiters, repeats,
 * lost replies and signals to wait sets is under 2 % of its operations, because a run without such events proves nothing.
 *
 * <h2>Overview for maintainers</h2>
 *
 * <p>If both stores share a manual clock, time passes only between operations, in steps that never end exactly at a
 * deadline.
 *
 * <p>Otherwise the store runs on real time, and a deadline must never be near when a result depends on it. The
 * names are divided into groups. A group is used for a short phase in which nothing can end yet; then it rests
 * until everything short-lived has certainly ended, while other groups are used. Short leases are 0.38 of a
 * ticket's time to live, so that the times at which expiry hands grants on (0.38, 0.76 and 1.14) are not near the
 * end of the waiting tickets (1). While somebody may wait, resting names are touched often, so that stores that
 * advance their queues by themselves and stores that wait for an operation behave in the same way. Without a queue
 * nothing is handed on, and nothing depends on when a store notices an end: such names are not touched. A group that
 * a slow machine delayed too much is discarded: its operations and events prove nothing, even if the stores seemed to differ, and further
 * operations replace them. A run that discards more than a third of its phases, and more than one for each group, would look
 * away too often. It ends, and begins anew at half the pace, which doubles all of its times: a busy machine makes it longer, but
 * not blind.
 *
 * <p>If the store grants by sessions, or the run is to meet no expiry, nothing ends by time, and names need not rest.
 */
public final class StoreModelRun {

    /** The system property that sets how many operations there are. */
    public static final String OPERATIONS = "holdfast.model.operations";

    /** The system property that sets the seed of the run. */
    public static final String SEED = "holdfast.model.seed";

    private static final double LEAST_SHARE = 0.02;

    /** A run of which too much was discarded is extended to at most this multiple of its operations. */
    private static final int MOST_EXTENSION = 2;

    /**
     * The same for a run that has met too few events. The rarest are four of a hundred operations, and half of that is
     * asked for: in 2,000 operations, one run in some hundred has fewer by chance.
     */
    private static final int MOST_EXTENSION_FOR_EVENTS = 4;

    private static final int NAMES = 12;
    /** On a held clock, in quarters of a unit, of which a ticket lasts forty. */
    private static final int MORE_THAN_A_TICKET = 44;

    private static final int GROUPS = 16;
    /** Groups without waiters cost nothing while they rest, so there are more of them, and less is waited for. */
    private static final int QUIET_GROUPS = 32;

    private static final int NAMES_OF_A_GROUP = 4;
    /**
     * The number of names of a group if names have no waiters or can be mutexes only. Such names rest with fewer
     * grants, so more names are needed to meet expiry.
     */
    private static final int QUIET_NAMES_OF_A_GROUP = 16;

    /** The maximum number of operations of a phase. In a short run it is reduced so that each group gets a turn. */
    private static final int MOST_OPERATIONS_OF_A_PHASE = 120;
    /** One phase in this many may be discarded, however short the run is. */
    private static final int PHASES_FOR_EACH_DISCARDED = 10;

    /**
     * A run that has discarded too many phases goes on until it has this number, so that a short one bears a single stop of the
     * machine, which spoils all groups that rest at that moment.
     */
    private static final int PHASES_THAT_BEAR_A_STOP = GROUPS * PHASES_FOR_EACH_DISCARDED;

    /** The slowest pace is this part of the first one. */
    private static final int SLOWEST = 8;

    /** The unit of time of a store without tickets. */
    private static final Duration UNIT = Duration.ofSeconds(2);

    private static final int OPERATIONS_BETWEEN_CHECKS = 20;

    private final ModelTime time;
    private final int operations;
    private final long seed;
    private final Random random;
    private final TwinStores twins;
    private final ModelWorkload workload;
    private final Duration ticket;
    private final String prefix;
    private final boolean leases;
    private final boolean fifo;
    private final int numberOfGroups;
    private final int namesOfAGroup;
    private final int operationsOfAPhase;
    private int abandoned;
    private int phases;
    /** The number of operations in phases that were discarded. */
    private int wasted;

    private long touchedAt;

    /** The events that a run must meet. */
    enum Met {
        EXPIRY,
        DEAD_WAITER,
        CANCELLATION,
        REPEAT,
        LOST_REPLY,
        /** A place in a wait set was ended as a condition does it. */
        SIGNAL
    }

    /** Names that are used together and rest together. */
    private static final class Group {
        private final List<ModelName> names;
        private long restsSince;
        private boolean delayed;
        private int operations;
        /** The events of the last phase, and of the time until the group was looked at again. */
        private Map<Met, Integer> events = new EnumMap<>(Met.class);

        private Group(List<ModelName> names, long now) {
            this.names = names;
            this.restsSince = now;
        }
    }

    /** The machine was too slow for the pace of the run, which has proved nothing so far and has found no difference. */
    private static final class TooSlow extends AssertionError {
        private static final long serialVersionUID = 1;

        private TooSlow(String message) {
            super(message);
        }
    }

    /**
     * Runs on a store, at half of the pace if the machine turns out to be too slow, up to three times.
     *
     * @param stores the store under test, for 1, 2, 4 or 8 times the time to live of its tickets; a store without tickets is
     *     the same for all. Nobody else may use names that begin with {@code prefix}
     * @param time the time of both stores
     * @param meetsExpiry whether things end by time; otherwise tickets must live for a minute at least
     * @param prefix the prefix of the names
     * @param operations the number of operations
     * @param seed the seed of the random numbers
     * @return a report of the events that were met, for people
     * @throws AssertionError if the stores differ, with the seed and the last operations
     */
    public static String run(
            IntFunction<LockStore> stores,
            ModelTime time,
            boolean meetsExpiry,
            String prefix,
            int operations,
            long seed) {
        Duration before = Duration.ZERO;
        for (int slowness = 1; ; slowness *= 2) {
            StoreModelRun run = new StoreModelRun(
                    stores.apply(slowness), time, meetsExpiry, prefix + slowness + "-", operations, seed, slowness);
            try {
                return run.run();
            } catch (TooSlow slow) {
                if (slowness == SLOWEST || run.ticket.equals(before)) {
                    throw slow;
                }
                before = run.ticket;
                System.out.println(slow.getMessage() + " It begins anew with longer ones, if there are any.");
            }
        }
    }

    private StoreModelRun(
            LockStore store,
            ModelTime time,
            boolean meetsExpiry,
            String prefix,
            int operations,
            long seed,
            int slowness) {
        StoreTraits traits = store.traits();
        this.time = time;
        this.operations = operations;
        this.seed = seed;
        this.prefix = prefix;
        this.random = new Random(seed);
        this.fifo = traits.fifo();
        this.numberOfGroups = fifo ? GROUPS : QUIET_GROUPS;
        this.operationsOfAPhase = Math.min(MOST_OPERATIONS_OF_A_PHASE, 1 + operations / numberOfGroups);
        this.leases = meetsExpiry && traits.liveness() == Liveness.LEASE;
        this.namesOfAGroup = traits.kinds() == Kinds.ALL && fifo ? NAMES_OF_A_GROUP : QUIET_NAMES_OF_A_GROUP;
        this.ticket = ticket(traits, slowness);
        LockStore model = new PlainStore(time.modelClock(), ticket);
        this.twins = new TwinStores(store, model, time.isExact());
        this.workload = new ModelWorkload(twins, time, random, leaseChoices(traits));
    }

    private String run() {
        try {
            if (time.isExact()) {
                runOnAHeldClock();
            } else if (leases) {
                runInRealTime();
            } else {
                runInOneSession();
            }
            if (tooMuchIsDiscardedOf(phases)) {
                throw tooSlow();
            }
            checkShares();
            return report();
        } catch (TooSlow slow) {
            throw slow;
        } catch (AssertionError | RuntimeException failure) {
            throw new AssertionError(
                    failure.getMessage() + System.lineSeparator() + "Repeat with -D" + SEED + "=" + seed + " -D"
                            + OPERATIONS + "=" + operations + ". The last operations:" + System.lineSeparator()
                            + twins.history(),
                    failure);
        } finally {
            twins.model().close();
        }
    }

    private void runOnAHeldClock() {
        List<ModelName> names = newNames(NAMES);
        workload.touchWhileWaiting(() -> touch(names));
        Duration unit = ticket.dividedBy(10);
        int[] quarters = {1, 1, 2, 3, 4, 6, 12};
        int nextCheck = OPERATIONS_BETWEEN_CHECKS;
        while (goesOn(twins.operations())) {
            if (leases && random.nextInt(100) < 11) {
                // Leases are whole units; the additional millisecond keeps every deadline away from the end of
                // every step. Now and then a step ends all tickets: else too few waiters die.
                int quartersOfAUnit =
                        random.nextInt(20) == 0 ? MORE_THAN_A_TICKET : quarters[random.nextInt(quarters.length)];
                Duration step = unit.multipliedBy(quartersOfAUnit).dividedBy(4).plusMillis(1);
                twins.note("  " + step.toMillis() + " ms pass");
                time.pass(step);
                touch(names);
                names.forEach(workload::compareAfterTime);
            } else {
                workload.step(names);
            }
            if (twins.operations() >= nextCheck) {
                nextCheck = twins.operations() + OPERATIONS_BETWEEN_CHECKS;
                checkListeners(names);
            }
        }
        checkListeners(names);
    }

    // Nothing ends while the session lives, so names need not rest. But each phase uses new names, because the
    // queues grow. On a slow machine a phase may take as long as a ticket lasts; then a difference proves nothing.
    private void runInOneSession() {
        long tooLong = twins.tested().traits().ticketTtl().toNanos() / 2;
        while (goesOn(twins.operations() - wasted)) {
            List<ModelName> names = newNames(NAMES_OF_A_GROUP);
            long start = time.nanoTime();
            int before = twins.operations();
            Map<Met, Integer> eventsBefore = workload.met();
            phases++;
            try {
                while (twins.operations() < before + operationsOfAPhase) {
                    time.follow();
                    workload.step(names);
                }
                touch(names);
                checkListeners(names);
            } catch (Difference difference) {
                if (time.nanoTime() - start < tooLong) {
                    throw difference;
                }
                discard(twins.operations() - before, eventsSince(eventsBefore));
            }
            checkSpeed();
        }
    }

    private void checkSpeed() {
        if (tooMuchIsDiscardedOf(Math.max(phases, mostPhases()))) {
            throw tooSlow();
        }
    }

    private int mostPhases() {
        return Math.max(MOST_EXTENSION * operations / operationsOfAPhase, PHASES_THAT_BEAR_A_STOP);
    }

    private TooSlow tooSlow() {
        return new TooSlow("The machine was too slow for tickets of " + ticket + ": " + report() + ".");
    }

    private boolean tooMuchIsDiscardedOf(int allPhases) {
        return abandoned * PHASES_FOR_EACH_DISCARDED > allPhases;
    }

    private void discard(int operationsOfThePhase, Map<Met, Integer> events) {
        wasted += operationsOfThePhase;
        workload.forget(events);
        abandoned++;
    }

    private Map<Met, Integer> eventsSince(Map<Met, Integer> before) {
        Map<Met, Integer> since = workload.met();
        since.replaceAll((event, times) -> times - before.getOrDefault(event, 0));
        return since;
    }

    private void runInRealTime() {
        touchedAt = time.nanoTime();
        List<Group> groups = new ArrayList<>();
        for (int i = 0; i < numberOfGroups; i++) {
            groups.add(new Group(newNames(namesOfAGroup), touchedAt - share(3)));
        }
        int next = 0;
        do {
            for (; goesOn(twins.operations() - wasted); next = (next + 1) % numberOfGroups) {
                phase(rested(next, groups), groups);
                checkSpeed();
            }
            // Operations that are found to be wasted only now are replaced, too.
            for (int i = 0; i < numberOfGroups; i++) {
                rested(i, groups);
            }
            checkSpeed();
        } while (goesOn(twins.operations() - wasted));
    }

    /** Returns a group that has rested and was compared, or a new group instead of it if it was delayed. */
    private Group rested(int number, List<Group> groups) {
        Group group = groups.get(number);
        Map<Met, Integer> before = workload.met();
        wake(group, groups);
        eventsSince(before).forEach((event, times) -> group.events.merge(event, times, Integer::sum));
        if (group.delayed) {
            discard(group.operations, group.events);
            groups.set(number, new Group(newNames(namesOfAGroup), time.nanoTime() - share(3)));
        }
        return groups.get(number);
    }

    private void wake(Group group, List<Group> groups) {
        while (time.nanoTime() - group.restsSince < share(2.2)) {
            time.pass(Duration.ofNanos(share(0.02)));
            touchResting(groups);
        }
        // The last of these steps may have taken too long as well.
        touchResting(groups);
        if (group.delayed) {
            return;
        }
        long start = time.nanoTime();
        try {
            time.follow();
            touch(group.names);
            group.names.forEach(workload::compareAfterTime);
            checkListeners(group.names);
        } catch (Difference | StoreException late) {
            giveUpIfTooLong(start, late);
            group.delayed = true;
        }
    }

    // A store that was stopped for longer than its call timeout has not answered. In such a long time, something
    // may have ended in only one of the two stores.
    private void giveUpIfTooLong(long start, Throwable late) {
        if (isTooLong(start)) {
            return;
        }
        if (late instanceof Difference difference) {
            throw difference;
        }
        throw (StoreException) late;
    }

    private void phase(Group group, List<Group> groups) {
        long start = time.nanoTime();
        int before = twins.operations();
        Map<Met, Integer> eventsBefore = workload.met();
        phases++;
        group.restsSince = start;
        try {
            for (int i = 0; i < operationsOfAPhase && time.nanoTime() - start < share(0.08); i++) {
                time.follow();
                workload.step(group.names);
                touchResting(groups);
            }
            workload.settleBeforeRest(group.names, ticket);
        } catch (Difference | StoreException late) {
            giveUpIfTooLong(start, late);
        }
        group.restsSince = time.nanoTime();
        group.operations = twins.operations() - before;
        group.events = eventsSince(eventsBefore);
        group.delayed |= isTooLong(start);
    }

    private boolean isTooLong(long start) {
        return time.nanoTime() - start > share(0.12);
    }

    private void touchResting(List<Group> groups) {
        long now = time.nanoTime();
        long before = touchedAt;
        if (now - before < share(0.02)) {
            return;
        }
        // The time of this touch is part of the next gap, because the stores are touched one after the other.
        touchedAt = now;
        time.follow();
        List<ModelName> names = new ArrayList<>();
        for (Group group : groups) {
            // Later nobody waits any more, and no result depends on which claim ends first.
            if (fifo && before - group.restsSince < share(1.3)) {
                names.addAll(group.names);
                group.delayed |= now - before > share(0.06);
            }
        }
        if (names.isEmpty()) {
            return;
        }
        try {
            touch(names);
        } catch (Difference late) {
            giveUpIfTooLong(now, late);
        }
    }

    private void touch(List<ModelName> names) {
        twins.touch(names.stream().map(ModelName::probe).toList());
    }

    private void checkListeners(List<ModelName> names) {
        boolean timePassed = false;
        for (ModelName name : names) {
            timePassed |= workload.checkListeners(name);
        }
        if (timePassed) {
            touch(names);
            names.forEach(workload::compareAfterTime);
        }
    }

    private Duration ticket(StoreTraits traits, int slowness) {
        if (!leases) {
            return StoreFixture.LONG; // nothing ends: a live session keeps its positions in queues, refreshed or not
        }
        return fifo
                ? traits.ticketTtl()
                : atLeast(UNIT, traits.leaseStep().multipliedBy(10)).multipliedBy(slowness);
    }

    private long share(double ofATicket) {
        return (long) (ticket.toNanos() * ofATicket);
    }

    private List<ModelName> newNames(int count) {
        List<ModelName> names = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            names.add(new ModelName(new LockName(prefix + "model-" + Long.toHexString(random.nextLong()))));
        }
        return names;
    }

    private List<Duration> leaseChoices(StoreTraits traits) {
        if (!leases) {
            return List.of(StoreFixture.LONG);
        }
        if (!time.isExact()) {
            Duration brief = lease(ticket.multipliedBy(38).dividedBy(100), traits);
            return List.of(brief, brief, StoreFixture.LONG);
        }
        Duration unit = ticket.dividedBy(10);
        return List.of(
                lease(unit.multipliedBy(2), traits),
                lease(unit.multipliedBy(3), traits),
                lease(unit.multipliedBy(5), traits),
                lease(unit.multipliedBy(10), traits),
                lease(unit.multipliedBy(20), traits));
    }

    private static Duration lease(Duration wished, StoreTraits traits) {
        return LockStore.roundUp(atLeast(Claim.MIN_LEASE, wished), traits.leaseStep());
    }

    private static Duration atLeast(Duration least, Duration wished) {
        return wished.compareTo(least) < 0 ? least : wished;
    }

    // A short run may have met too few events of a kind by chance, or has discarded more than it may: then it goes on,
    // but not for ever.
    private boolean goesOn(int done) {
        // One tenth more than the final check counts, because the last comparisons are operations, too.
        boolean metTooFew = done < MOST_EXTENSION_FOR_EVENTS * operations && !provesEnough(done + done / 10);
        boolean discardedTooMany = phases < mostPhases() && tooMuchIsDiscardedOf(phases);
        return done < operations || metTooFew || discardedTooMany;
    }

    private void checkShares() {
        if (!provesEnough(twins.operations() - wasted)) {
            throw new AssertionError("The run proves too little: " + report());
        }
    }

    private boolean provesEnough(int done) {
        EnumMap<Met, Integer> required = new EnumMap<>(workload.met());
        if (!leases) {
            required.remove(Met.EXPIRY);
        }
        if (!leases || !fifo) {
            required.remove(Met.DEAD_WAITER);
        }
        if (!fifo) {
            required.remove(Met.CANCELLATION);
        }
        if (!fifo || !twins.tested().traits().kinds().serves(0)) {
            required.remove(Met.SIGNAL);
        }
        int least = leastOf(done);
        return required.values().stream().allMatch(met -> met >= least);
    }

    /** So often each event must be met by this number of operations that count. */
    private int leastOf(int done) {
        return (int) Math.ceil(Math.max(operations, done) * LEAST_SHARE);
    }

    private String report() {
        int kept = twins.operations() - wasted;
        return kept + " operations on " + twins.tested() + " as on the model, seed " + seed + ", met " + workload.met()
                + " (at least " + leastOf(kept) + " of each that the store has)"
                + (phases > 0
                        ? ", " + abandoned + " of " + phases + " phases given up (at most 1 in "
                                + PHASES_FOR_EACH_DISCARDED + ") with " + wasted + " operations"
                        : "");
    }
}
