package dev.holdfast.engine.simulation;

import dev.holdfast.DistributedLock;
import dev.holdfast.Lease;
import dev.holdfast.LockException;
import dev.holdfast.LockLostException;
import dev.holdfast.LockOptions;
import dev.holdfast.internal.hold.Hold;
import dev.holdfast.internal.hold.HoldExtension;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.ResourceState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.BooleanSupplier;

/**
 * A run of several clients over the store in memory: users acquire, try, wait for a limited time, give up, extend,
 * release and leave; processes pause, crash and close; messages are late, lost and reordered; an operator breaks locks; clocks run
 * at different rates. After every step:
 *
 * <ul>
 *   <li>by the true time, what valid leases of a name have is at most its limit, unless an operator has broken one of them;
 *   <li>what a valid lease holds the store keeps (law 5), unless an operator has broken it;
 *   <li>tokens grow with exclusive grants;
 *   <li>a lease that was lost or released is never held again, and a loss is reported once.
 * </ul>
 *
 * <p>What threads must find beside that is with {@link ThreadUser}, {@link SimulatedCondition} and {@link LocalTurn}, and what
 * candidates must find in elections with {@link SimulatedCandidate}.
 *
 * <p>In the end the weather clears up and users only release. Then every wait ends, and nothing is left, neither in the clients
 * nor in their agendas nor in the store.
 *
 * <p>Some users are threads, of which one runs at a time ({@link ThreadUser}); all others have futures. It does not cover
 * the races inside one piece of work, which is done as a whole here.
 */
final class EngineSimulation implements ThreadUser.Host {

    private static final int MOST_WAITS = 7;
    private static final int MOST_HELD = 5;
    private static final int STEPS_OF_A_WEATHER = 400;
    private static final long MOST_PAUSE = 6_000 * Weather.MILLI;
    private static final long LEASE_LONG_PAUSE = 600 * Weather.MILLI;
    private static final int MOST_THREADS = 4;
    /** Of a thousand wishes of users, so many are those of threads. */
    private static final int[] DONE_BY_THREADS = {100, 500, 950};

    /** And so many are those of candidates. */
    private static final int[] OF_ELECTIONS = {0, 100, 300};

    private static final int INTERRUPTED_ONCE_IN = 30;
    private static final int DIES_ONCE_IN = 100;

    /** After so long in clear weather all must have come to its end. */
    private static final long CALM = 120_000 * Weather.MILLI;
    /** What processes that died have left in the store ends in this time, with what that grants and so on. */
    private static final long LEFT = 20_000 * Weather.MILLI;

    /** In so many steps users do one thing: in haste, or so seldom that leases end meanwhile. */
    private static final int[] USERS_ACT_ONCE_IN = {2, 2, 3, 4, 30};

    private record Pending(CompletableFuture<Lease> future, SimulatedProcess process, String what) {
        @Override
        public String toString() {
            return process + " waits for " + what;
        }
    }

    /** What a run has met. */
    record Report(
            int steps,
            long print,
            long grants,
            long terms,
            long losses,
            long givenUp,
            long failures,
            long trueMillis) {}

    private final World world;
    private final Chance chance;
    private final int steps;
    private final boolean queues;
    private final List<SimulatedProcess> processes = new ArrayList<>();
    private final List<SharedName> names = new ArrayList<>();
    /** The names of locks and elections. */
    private final List<SharedName> everyName = new ArrayList<>();

    private final List<LockOptions> options = new ArrayList<>();
    private final List<Pending> pending = new ArrayList<>();
    private final List<Held> held = new ArrayList<>();
    private final List<ThreadUser> threads = new ArrayList<>();
    private final SimulatedElections elections;
    private final int actsOfElections;
    private final int threadsOfAProcess;
    private final int doneByThreads;
    /** All that have lived. */
    private final List<SimulatedProcess> everyProcess = new ArrayList<>();
    /** What threads have that have died. */
    private final List<Held> ofTheDead = new ArrayList<>();

    /** Since when nothing goes wrong any more; negative before. */
    private long calmSince = -1;

    private int actOnceIn;
    private int step;
    private int born;
    private long grants;
    private long losses;
    private long givenUp;
    private long failures;

    private EngineSimulation(long seed, int steps, Plant plant, Trace trace) {
        this.world = new World(seed, plant, trace);
        this.chance = world.chance();
        this.steps = steps;
        this.queues = !chance.once(5);
        this.threadsOfAProcess = 1 + chance.below(MOST_THREADS);
        this.doneByThreads = DONE_BY_THREADS[chance.below(DONE_BY_THREADS.length)];
        int nameCount = 2 + chance.below(4);
        for (int i = 0; i < nameCount; i++) {
            names.add(new SharedName("name" + i));
        }
        this.actsOfElections = OF_ELECTIONS[chance.below(OF_ELECTIONS.length)];
        this.elections = new SimulatedElections(world, this, names.get(0));
        everyName.addAll(names);
        everyName.addAll(elections.ownNames());
        int optionCount = 1 + chance.below(3);
        for (int i = 0; i < optionCount; i++) {
            options.add(anyOptions());
        }
        int processCount = 1 + chance.below(3);
        for (int i = 0; i < processCount; i++) {
            begin();
        }
    }

    /**
     * Makes a run.
     *
     * @throws AssertionError if something is wrong, with the seed and what has happened last
     */
    static Report run(long seed, int steps, Plant plant) {
        try {
            return new EngineSimulation(seed, steps, plant, null).run();
        } catch (AssertionError | RuntimeException failure) {
            Trace trace = new Trace();
            Throwable again = null;
            try {
                new EngineSimulation(seed, steps, plant, trace).run();
            } catch (AssertionError | RuntimeException same) {
                again = same;
            }
            String repeated =
                    again != null && String.valueOf(again.getMessage()).equals(failure.getMessage())
                            ? ""
                            : " (a second run ended otherwise: " + again + ")";
            throw new AssertionError(
                    failure + repeated + System.lineSeparator() + "Repeat with -Dholdfast.simulation.seed=" + seed
                            + " -Dholdfast.simulation.steps=" + steps + ". What happened last:" + System.lineSeparator()
                            + trace,
                    failure);
        }
    }

    private Report run() {
        Thread self = Thread.currentThread();
        Thread.UncaughtExceptionHandler before = self.getUncaughtExceptionHandler();
        self.setUncaughtExceptionHandler((unused, failure) -> {
            if (!(failure instanceof SimulatedCandidate.Theirs)) {
                world.fail(failure);
            }
        });
        try {
            while (step < steps) {
                doStep();
            }
            calmDown();
            return new Report(
                    step,
                    world.print(),
                    grants,
                    elections.terms(),
                    losses,
                    givenUp,
                    failures,
                    world.now() / Weather.MILLI);
        } finally {
            everyProcess.forEach(SimulatedProcess::endThreads);
            self.setUncaughtExceptionHandler(before);
        }
    }

    private void doStep() {
        if (step++ % STEPS_OF_A_WEATHER == 0) {
            world.setWeather(Weather.any(chance));
            actOnceIn = USERS_ACT_ONCE_IN[chance.below(USERS_ACT_ONCE_IN.length)];
        }
        if (chance.once(actOnceIn)) {
            act();
        } else {
            world.doOne();
        }
        check();
    }

    @Override
    public List<BooleanSupplier> futures(SimulatedProcess process) {
        return pending.stream()
                .filter(wait -> wait.process() == process)
                .map(wait -> (BooleanSupplier) wait.future()::isDone)
                .toList();
    }

    @Override
    public void hold(Held one) {
        if (!one.process().gone) {
            held.add(one);
        } else if (!one.process().dead && one.isValid()) {
            throw new AssertionError(one + " is valid after the close of its client");
        }
    }

    @Override
    public void drop(Held one) {
        held.remove(one);
    }

    @Override
    public void hold(Lease lease, SimulatedProcess process, List<SharedName> of, int permits, int limit) {
        grants++;
        hold(new Held(lease, process, of, permits, limit));
    }

    @Override
    public void met(RuntimeException failure) {
        if (failure instanceof LockLostException) {
            losses++;
        } else {
            failures++;
        }
    }

    // ---- what users do ----

    private void act() {
        SimulatedProcess process = chance.of(processes);
        int dice = chance.below(1_000);
        if (dice < 12) {
            weatherOf(process);
        } else if (dice < 14) {
            world.storeClock().stepWallClock((chance.below(7_200) - 3_600) * 1_000_000L);
        } else if (dice < 15) {
            replace(process);
        } else if (dice < 23) {
            breakSome(chance.of(everyName));
        } else if (dice < 40) {
            signal(chance.of(names));
        } else if (dice < 550 && chance.ofAThousand(doneByThreads)) {
            act(chance.of(threads));
        } else if (world.now() < process.pausedUntil) {
            world.doOne();
        } else if (chance.ofAThousand(actsOfElections)) {
            elections.act(process);
        } else if (dice < 550) {
            acquire(process);
        } else if (dice < 580) {
            giveUp(process);
        } else if (dice < 950) {
            releaseSome();
        } else {
            extend(process);
        }
    }

    private void act(ThreadUser thread) {
        if (world.now() < thread.process().pausedUntil) {
            world.doOne();
        } else if (!thread.isIdle()) {
            if (chance.once(INTERRUPTED_ONCE_IN)) {
                thread.interrupt();
            } else {
                world.doOne();
            }
        } else if (chance.once(DIES_ONCE_IN)) {
            Held left = thread.die();
            if (left != null) {
                ofTheDead.add(left);
            }
            threads.remove(thread);
            begin(thread.process());
        } else {
            int which = chance.below(2);
            thread.act(names.get(which), which == 0, chance.of(options));
        }
    }

    private LockOptions anyOptions() {
        int[] leases = {200, 400, 1_000, 3_000};
        Duration lease = Duration.ofMillis(leases[chance.below(leases.length)]);
        LockOptions any = LockOptions.defaults()
                .withLease(lease)
                .withAutoRenew(!chance.once(3))
                .withStoreTimeout(Duration.ofMillis(500 + chance.below(8_000)));
        if (chance.once(6)) {
            any = any.withMaxHold(Duration.ofMillis(150 + chance.below(3_000)));
        }
        if (chance.once(5) && queues) {
            return any.withFair(true);
        }
        return chance.once(6) ? any.withSpin(true) : any;
    }

    private void acquire(SimulatedProcess process) {
        if (pending.stream().filter(wait -> wait.process() == process).count() >= MOST_WAITS
                || held.stream().filter(one -> one.process() == process).count() >= MOST_HELD) {
            releaseSome();
            return;
        }
        if (chance.once(50)) {
            options.set(chance.below(options.size()), anyOptions());
        }
        int which = chance.below(names.size());
        SharedName name = names.get(which);
        LockOptions how = chance.of(options);
        long wait = chance.once(3) ? Long.MAX_VALUE : chance.once(2) ? 0 : 1 + chance.below(3_000);
        boolean otherKind = chance.once(300);
        int kind = otherKind ? chance.below(3) : which % 3;
        if (kind == 0 && names.size() > 3 && chance.once(4)) {
            acquireSeveral(process, how, wait);
        } else if (kind == 0) {
            begin(process, process.client().lock(name.toString(), how), List.of(name), 1, 1, wait);
        } else if (kind == 1) {
            boolean reads = !chance.once(3);
            var pair = process.client().readWriteLock(name.toString(), how);
            begin(
                    process,
                    reads ? pair.readLock() : pair.writeLock(),
                    List.of(name),
                    reads ? 1 : Claim.ALL,
                    Claim.ALL,
                    wait);
        } else {
            int limit = 3;
            int permits = 1 + chance.below(limit);
            var semaphore = process.client().semaphore(name.toString(), limit, how);
            begin(
                    process,
                    wait == Long.MAX_VALUE
                            ? semaphore.acquireAsync(permits)
                            : semaphore.acquireAsync(permits, Duration.ofMillis(wait)),
                    List.of(name),
                    permits,
                    limit,
                    wait);
        }
    }

    private void acquireSeveral(SimulatedProcess process, LockOptions how, long wait) {
        List<SharedName> both = List.of(names.get(0), names.get(3));
        DistributedLock lock = process.client()
                .multiLock(both.stream().map(SharedName::toString).toList(), how);
        begin(process, lock, both, 1, 1, wait);
    }

    private void begin(
            SimulatedProcess process, DistributedLock lock, List<SharedName> of, int permits, int limit, long wait) {
        CompletableFuture<Lease> future =
                wait == Long.MAX_VALUE ? lock.acquireAsync() : lock.acquireAsync(Duration.ofMillis(wait));
        begin(process, future, of, permits, limit, wait);
    }

    private void begin(
            SimulatedProcess process,
            CompletableFuture<Lease> future,
            List<SharedName> of,
            int permits,
            int limit,
            long wait) {
        String what = permits + "/" + limit + " of " + of + (wait == Long.MAX_VALUE ? "" : " for " + wait + " ms");
        world.note(process, "acquires " + what);
        Pending waits = new Pending(future, process, what);
        pending.add(waits);
        future.whenComplete((lease, failure) -> {
            pending.remove(waits);
            if (lease != null) {
                grants++;
                world.note(process, "has " + what);
                if (!process.dead) {
                    held.add(new Held(lease, process, of, permits, limit));
                }
            } else {
                ended(failure);
            }
        });
    }

    // What is not an honest failure fails the run at the next check.
    private void ended(Throwable failure) {
        Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
        if (cause instanceof CancellationException) {
            givenUp++;
        } else if (cause instanceof LockException) {
            failures++;
        } else {
            world.fail(cause);
        }
    }

    private void giveUp(SimulatedProcess process) {
        List<Pending> own =
                pending.stream().filter(wait -> wait.process() == process).toList();
        if (!own.isEmpty()) {
            Pending wait = chance.of(own);
            world.note(process, "gives up " + wait.what());
            wait.future().cancel(true);
        }
    }

    private void releaseSome() {
        List<Held> leases = held.stream()
                .filter(one -> one.lease() != null && world.now() >= one.process().pausedUntil)
                .toList();
        if (leases.isEmpty()) {
            world.doOne();
        } else {
            release(chance.of(leases));
        }
    }

    private List<Held> leasesOf(SimulatedProcess process) {
        return held.stream()
                .filter(one -> one.process() == process && one.lease() != null)
                .toList();
    }

    private void release(Held one) {
        world.note(one.process(), "releases " + one.names());
        held.remove(one);
        one.isValid();
        one.markReleased();
        if (chance.once(12) && calmSince < 0) {
            try {
                one.lease().letExpire();
            } catch (LockLostException lost) {
                losses++;
            }
            return;
        }
        one.lease().releaseAsync().whenComplete((done, failure) -> {
            Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
            if (cause instanceof LockLostException) {
                losses++;
            } else if (cause != null) {
                world.fail(cause);
            }
        });
    }

    private void extend(SimulatedProcess process) {
        List<Held> own = leasesOf(process);
        if (own.isEmpty()) {
            return;
        }
        Held one = chance.of(own);
        if (one.lease() instanceof Hold hold && one.isValid()) {
            world.note(process, "extends " + one.names());
            HoldExtension.send(List.of(hold), Duration.ofMillis(100 + chance.below(4_000)));
        }
    }

    // ---- what happens to processes ----

    private void begin() {
        SimulatedProcess process = new SimulatedProcess(world, "process" + born++, queues);
        processes.add(process);
        everyProcess.add(process);
        for (int i = 0; i < threadsOfAProcess; i++) {
            begin(process);
        }
    }

    private void begin(SimulatedProcess process) {
        threads.add(new ThreadUser(world, this, process, queues));
    }

    private void weatherOf(SimulatedProcess process) {
        if (chance.once(2)) {
            // Many pauses are about as long as leases, so that answers come when the time is just over.
            long pause = chance.once(2) ? chance.below(LEASE_LONG_PAUSE) : chance.mostlyShort(MOST_PAUSE);
            process.pausedUntil = world.now() + pause;
            world.note(process, "is paused");
        } else {
            world.note(process, "is cut off");
            process.network().partition(true);
            world.send(
                    process,
                    chance.mostlyShort(MOST_PAUSE),
                    "is reached again",
                    () -> process.network().partition(false));
        }
    }

    private void replace(SimulatedProcess process) {
        processes.remove(process);
        threads.removeIf(thread -> thread.process() == process);
        if (chance.once(2)) {
            world.note(process, "dies");
            process.die();
            process.gone = true;
            process.endThreads();
            world.leave(process);
            pending.removeIf(wait -> wait.process() == process);
            held.removeIf(one -> one.process() == process);
            elections.gone(process);
        } else {
            world.note(process, "closes");
            process.pausedUntil = 0;
            process.client().close();
            process.gone = true;
            elections.gone(process);
            for (Held one : List.copyOf(held)) {
                if (one.process() == process) {
                    if (one.isValid()) {
                        throw new AssertionError(one + " is valid after the close of its client");
                    }
                    held.remove(one);
                }
            }
        }
        begin();
    }

    // What an operator sees he breaks at once; a program breaks it a while later, when somebody else may hold.
    private void breakSome(SharedName name) {
        world.store().inspect(name.lockName()).toCompletableFuture().join().stream()
                .flatMap(state -> state.holders().stream())
                .limit(1)
                .forEach(holder -> {
                    ThreadUser thread = chance.of(threads);
                    if (chance.once(2) && thread.isIdle() && world.now() >= thread.process().pausedUntil) {
                        name.markBroken(holder.counter());
                        world.willBreak(holder.claim().id(), name);
                        thread.breakSeen(name, holder);
                    } else {
                        breakOne(name, holder);
                    }
                });
    }

    // What a signal of another process does.
    private void signal(SharedName name) {
        world.store().inspect(new LockName(name + SimulatedCondition.WAIT_SET)).toCompletableFuture().join().stream()
                .flatMap(state -> state.waiters().stream())
                .limit(1)
                .forEach(place -> {
                    world.note("somebody", "signals " + name);
                    world.store().release(place.claim());
                });
    }

    private void breakOne(SharedName name, ResourceState.Entry holder) {
        world.note("operator", "breaks " + name);
        name.markBroken(holder.counter());
        world.store().release(holder.claim().again());
        world.hint(name.lockName());
        processes.forEach(process -> {
            if (process.engine().clientId().equals(holder.claim().id().client())) {
                process.network().pushLoss(holder.claim());
            }
        });
    }

    // ---- what must hold ----

    private void check() {
        world.throwFailure();
        forgetTheDead();
        processes.forEach(process -> process.turns().forEach(turn -> turn.look(world.now())));
        for (SharedName name : everyName) {
            name.beginLook();
        }
        elections.check();
        for (int i = 0; i < held.size(); i++) {
            Held one = held.get(i);
            if (one.isValid()) {
                for (SharedName name : one.names()) {
                    name.see(one);
                    // Planted mistakes are to be found without this, by what users could see.
                    if (world.plant() == Plant.NONE) {
                        name.requireKept(one, world.store());
                    }
                }
            }
        }
        for (int i = 0; i < held.size(); i++) {
            Held one = held.get(i);
            if (one.isValid() && one.isSeenFirst()) {
                one.names().forEach(name -> name.seeFirst(one));
            }
        }
    }

    private void forgetTheDead() {
        for (Held one : List.copyOf(ofTheDead)) {
            if (one.process().dead || !one.isValid()) {
                ofTheDead.remove(one);
                held.remove(one);
            }
        }
    }

    // The faults stop, and so do those who want more. What they wait for comes, and what they have they release.
    private void calmStep() {
        if (calmSince < 0) {
            calmSince = world.now();
            world.setWeather(Weather.CLEAR);
            processes.forEach(process -> {
                process.pausedUntil = 0;
                process.network().partition(false);
            });
        }
        if (world.now() - calmSince > CALM) {
            throw new AssertionError("After " + CALM / Weather.MILLI
                    + " ms in which nothing went wrong, there is still " + pending + held + elections + left());
        }
        for (ThreadUser thread : threads) {
            if (thread.isIdle()) {
                thread.giveUpSome();
            } else if (thread.waitsForCondition() && world.now() - calmSince > CALM / 4) {
                // Nobody signals any more.
                thread.interrupt();
            }
        }
        List<Held> leases = held.stream().filter(one -> one.lease() != null).toList();
        if (!leases.isEmpty() && (chance.once(4) || world.isQuiet())) {
            release(chance.of(leases));
        }
        if (chance.once(4) || world.isQuiet()) {
            elections.calmStep();
        }
        world.doOne();
        check();
    }

    private boolean isOver() {
        return pending.isEmpty()
                && held.isEmpty()
                && threads.stream().allMatch(ThreadUser::hasNothing)
                && elections.areOver()
                && world.isQuiet();
    }

    private void calmDown() {
        while (!isOver() || (actsOfElections > 0 && elections.beginLast(processes))) {
            calmStep();
        }
        elections.requireNothingIsLeft();
        if (processes.stream().anyMatch(process -> !isUnused(process))) {
            throw new AssertionError("All waits and leases have ended, but there is still " + left());
        }
        processes.forEach(process -> process.client().close());
        for (int i = 0; i < 4; i++) {
            world.pass(LEFT / 4);
            world.workUntil(world::isQuiet, LEFT);
            world.store().list("", 1);
        }
        List<LockName> used = world.store().list("", 100).toCompletableFuture().join();
        if (!used.isEmpty()) {
            throw new AssertionError("Nobody is there any more, but the store has still " + used);
        }
        check();
    }

    private boolean isUnused(SimulatedProcess process) {
        return process.client().heldCount() == 0
                && process.client().waitingCount() == 0
                && process.engine().tasks() == 0
                && process.engine().hasEmptyAgendas()
                && everyName.stream().allMatch(name -> process.engine().locks().peek(name.lockName()) == null);
    }

    private String left() {
        StringBuilder left = new StringBuilder();
        for (SimulatedProcess process : processes) {
            left.append(System.lineSeparator())
                    .append(process)
                    .append(": held ")
                    .append(process.client().heldCount())
                    .append(", waiting ")
                    .append(process.client().waitingCount())
                    .append(", tasks ")
                    .append(process.engine().tasks())
                    .append(process.engine().hasEmptyAgendas() ? "" : ", something on an agenda");
        }
        return left.toString();
    }
}
