package dev.holdfast.testkit.model;

import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreTraits;
import dev.holdfast.spi.StoreTraits.Liveness;
import dev.holdfast.testkit.law.StoreFixture;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Random;

/**
 * A long random run on a store and, beside it, on the store in memory, which is the model of the laws. After every operation
 * the answers, the order of the grants, and what the two tell of the name must be the same.
 *
 * <p>The run also counts what it has met, and fails if expiry, cancellation, dead waiters, repeats or lost replies are each
 * under 2 % of its operations: a run that meets only fair weather proves nothing.
 *
 * <h2>Overview for maintainers</h2>
 *
 * <p>If both stores share a held clock, time passes only between operations, in steps that never end exactly at a deadline.
 *
 * <p>Else the store runs on real time, and a deadline must never be near when something depends on it. The names are
 * divided into groups. A group is used for a short phase in which nothing can end yet; then it rests until everything
 * short-lived has ended for sure, while other groups are used. Short leases are 0.38 of a ticket's time to live, so that
 * the grants handed on by expiry (at 0.38, 0.76 and 1.14) stay clear of the end of the waiting tickets (at 1). Resting names
 * are touched often, so that stores that move their queues by themselves and stores that wait for an operation do the
 * same. A group that was delayed too much, by a slow machine, is given up: what it was used for proves nothing, also if the
 * stores seemed to differ, and is made up for by further operations.
 *
 * <p>If the store grants by sessions, nothing ends by time, and there is nothing to rest for.
 */
public final class StoreModelRun {

    /** The system property that sets how many operations there are. */
    public static final String OPERATIONS = "holdfast.model.operations";

    /** The system property that sets the seed of the run. */
    public static final String SEED = "holdfast.model.seed";

    private static final double LEAST_SHARE = 0.02;

    /** So many times as long a run becomes at most while it has met too little. */
    private static final int MOST_EXTENSION = 2;

    private static final int NAMES = 12;
    private static final int GROUPS = 16;
    private static final int NAMES_OF_A_GROUP = 4;
    /** A name that nobody waits for, or that can be a mutex only, rests with fewer grants: more are needed to meet expiry. */
    private static final int QUIET_NAMES_OF_A_GROUP = 16;

    /** A phase has no more operations than this, and so few in a short run that all groups have a turn in it. */
    private static final int MOST_OPERATIONS_OF_A_PHASE = 120;
    /** A machine on which so many times the operations do not suffice is too slow for the store's tickets. */
    private static final int MOST_ATTEMPTS = 4;

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
    private final int namesOfAGroup;
    private final int operationsOfAPhase;
    private int abandoned;
    private int phases;
    /** Operations of phases that were given up. */
    private int wasted;

    private long touchedAt;

    /** What a run must meet. */
    enum Met {
        EXPIRY,
        DEAD_WAITER,
        CANCELLATION,
        REPEAT,
        LOST_REPLY
    }

    /** Names that are used and rest together. */
    private static final class Group {
        private final List<ModelName> names;
        private long restsSince;
        private boolean delayed;
        private int operations;

        private Group(List<ModelName> names, long now) {
            this.names = names;
            this.restsSince = now;
        }
    }

    /**
     * @param store the store under test; nobody else may use names that begin with {@code prefix}
     * @param time the time of both stores
     * @param prefix what the names begin with
     * @param operations how many operations are run
     * @param seed where the random numbers begin
     */
    public StoreModelRun(LockStore store, ModelTime time, String prefix, int operations, long seed) {
        StoreTraits traits = store.traits();
        this.time = time;
        this.operations = operations;
        this.seed = seed;
        this.prefix = prefix;
        this.random = new Random(seed);
        this.operationsOfAPhase = Math.min(MOST_OPERATIONS_OF_A_PHASE, 1 + operations / GROUPS);
        this.leases = traits.liveness() == Liveness.LEASE;
        this.namesOfAGroup = traits.allKinds() && traits.fifo() ? NAMES_OF_A_GROUP : QUIET_NAMES_OF_A_GROUP;
        this.ticket = ticket(traits);
        LockStore model = new MemoryLockStore(time.modelClock(), ticket);
        this.twins = new TwinStores(store, model, time.isExact());
        this.workload = new ModelWorkload(twins, time, random, leaseChoices(traits));
    }

    /**
     * Runs.
     *
     * @return what was met, for people
     * @throws AssertionError if the stores differ, with the seed and the last operations
     */
    public String run() {
        try {
            if (time.isExact()) {
                runOnAHeldClock();
            } else if (leases) {
                runInRealTime();
            } else {
                runInOneSession();
            }
            checkShares();
            return report();
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
                // Leases are whole units; the odd millisecond keeps every deadline away from every step.
                Duration step = unit.multipliedBy(quarters[random.nextInt(quarters.length)])
                        .dividedBy(4)
                        .plusMillis(1);
                twins.note("  " + step.toMillis() + " ms pass");
                time.pass(step);
                touch(names);
                names.forEach(workload::lookAfterTime);
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

    // Nothing ends while the session lives, so nobody has to rest; but names are left after a phase, as their queues
    // grow. On a slow machine a phase may take as long as a ticket lives; then a difference proves nothing.
    private void runInOneSession() {
        long tooLong = twins.tested().traits().ticketTtl().toNanos() / 2;
        while (goesOn(twins.operations() - wasted)) {
            List<ModelName> names = newNames(NAMES_OF_A_GROUP);
            long start = System.nanoTime();
            int before = twins.operations();
            phases++;
            try {
                while (twins.operations() < before + operationsOfAPhase) {
                    time.follow();
                    workload.step(names);
                }
                touch(names);
                checkListeners(names);
            } catch (Difference difference) {
                if (System.nanoTime() - start < tooLong) {
                    throw difference;
                }
                wasted += twins.operations() - before;
                abandoned++;
            }
            checkSpeed();
        }
    }

    private void checkSpeed() {
        if (twins.operations() > MOST_ATTEMPTS * operations) {
            throw new AssertionError("The machine was too slow for tickets of " + ticket
                    + ": open the store with a longer one. " + report());
        }
    }

    private void runInRealTime() {
        touchedAt = System.nanoTime();
        List<Group> groups = new ArrayList<>();
        for (int i = 0; i < GROUPS; i++) {
            groups.add(new Group(newNames(namesOfAGroup), touchedAt - share(3)));
        }
        int next = 0;
        do {
            for (; goesOn(twins.operations() - wasted); next = (next + 1) % GROUPS) {
                phase(rested(next, groups), groups);
                checkSpeed();
            }
            // What is found to be wasted only now is made up for, too.
            for (int i = 0; i < GROUPS; i++) {
                rested(i, groups);
            }
        } while (goesOn(twins.operations() - wasted));
    }

    /** A group that has rested, and was looked at; or in its place a new one, if it was delayed. */
    private Group rested(int number, List<Group> groups) {
        Group group = groups.get(number);
        wake(group, groups);
        if (group.delayed) {
            wasted += group.operations;
            abandoned++;
            group = new Group(newNames(namesOfAGroup), System.nanoTime() - share(3));
            groups.set(number, group);
        }
        return group;
    }

    private void wake(Group group, List<Group> groups) {
        while (System.nanoTime() - group.restsSince < share(2.2)) {
            time.pass(Duration.ofNanos(share(0.02)));
            touchResting(groups);
        }
        // The last of them may have taken long, too.
        touchResting(groups);
        if (group.delayed) {
            return;
        }
        long start = System.nanoTime();
        try {
            time.follow();
            touch(group.names);
            group.names.forEach(workload::lookAfterTime);
            checkListeners(group.names);
        } catch (Difference | StoreException late) {
            giveUpIfTooLong(start, late);
            group.delayed = true;
        }
    }

    // A store that was stopped for longer than it waits for an answer has not answered.
    // And in so long a time something may have ended in one of the stores only.
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
        long start = System.nanoTime();
        int before = twins.operations();
        phases++;
        group.restsSince = start;
        try {
            for (int i = 0; i < operationsOfAPhase && System.nanoTime() - start < share(0.08); i++) {
                time.follow();
                workload.step(group.names);
                touchResting(groups);
            }
            workload.settleBeforeRest(group.names, ticket);
        } catch (Difference | StoreException late) {
            giveUpIfTooLong(start, late);
        }
        group.restsSince = System.nanoTime();
        group.operations = twins.operations() - before;
        group.delayed |= isTooLong(start);
    }

    private boolean isTooLong(long start) {
        return System.nanoTime() - start > share(0.12);
    }

    private void touchResting(List<Group> groups) {
        long now = System.nanoTime();
        long before = touchedAt;
        if (now - before < share(0.02)) {
            return;
        }
        // What this touch takes is part of the next gap: the stores are touched one after the other.
        touchedAt = now;
        time.follow();
        List<ModelName> names = new ArrayList<>();
        for (Group group : groups) {
            names.addAll(group.names);
            // If the gap began later, nobody waited any more, and nothing depended on what ended first.
            group.delayed |= now - before > share(0.06) && before - group.restsSince < share(1.3);
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
            names.forEach(workload::lookAfterTime);
        }
    }

    private static Duration ticket(StoreTraits traits) {
        if (traits.liveness() == Liveness.SESSION) {
            return StoreFixture.LONG; // the places of a session that lives are kept, refreshed or not
        }
        return traits.fifo()
                ? traits.ticketTtl()
                : atLeast(Duration.ofSeconds(2), traits.leaseStep().multipliedBy(10));
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

    // A short run may have met too little of something by chance: then it goes on, but not for ever.
    private boolean goesOn(int done) {
        // A tenth more than is checked in the end: the last looks are operations, too.
        return done < operations || (done < MOST_EXTENSION * operations && !provesEnough(done + done / 10));
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
        if (!leases || !twins.tested().traits().fifo()) {
            required.remove(Met.DEAD_WAITER);
        }
        if (!twins.tested().traits().fifo()) {
            required.remove(Met.CANCELLATION);
        }
        int least = (int) Math.ceil(Math.max(operations, done) * LEAST_SHARE);
        return required.values().stream().allMatch(met -> met >= least);
    }

    private String report() {
        return twins.operations() + " operations on " + twins.tested() + " as on the model, seed " + seed + ", met "
                + workload.met() + (phases > 0 ? ", " + abandoned + " of " + phases + " phases given up" : "");
    }
}
