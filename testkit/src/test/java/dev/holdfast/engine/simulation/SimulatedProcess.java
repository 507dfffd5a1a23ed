package dev.holdfast.engine.simulation;

import dev.holdfast.DistributedLock;
import dev.holdfast.Engines;
import dev.holdfast.Holdfast;
import dev.holdfast.internal.Engine;
import dev.holdfast.internal.time.Agenda;
import dev.holdfast.internal.time.Nanos;
import dev.holdfast.internal.time.Simulator;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;

/** A process with one client, whose engine has no threads: the world does its work. */
final class SimulatedProcess extends Party implements Simulator {

    /** A piece of work of one of the engine's threads waits for a processor so often, and so long at most. */
    private static final int WORK_WAITS_ONCE_IN = 20;

    private static final long MOST_WAIT = 5 * Weather.MILLI;
    /** So many processes have an executor for callbacks, which is busy so often, and so long at most. */
    private static final int EXECUTOR_ONCE_IN = 2;

    private static final int BUSY_ONCE_IN = 12;
    private static final long MOST_BUSY = 6_000 * Weather.MILLI;
    private static final int WORK_IS_LOST_ONCE_IN = 1_000;

    /** By how much clocks may differ in rate: half of the margin either way, and a bit less. */
    private static final int CLOCK_PPM = 4_500;

    private static final int SLOW_CLOCK_PPM = 60_000;

    private final World world;
    private final SimulatedClock clock;
    private final SimulatedNetwork network;
    private final List<Agenda<?>> agendas = new ArrayList<>();
    private final List<SimulatedThread> threads = new ArrayList<>();
    private final Map<String, SimulatedCondition> conditions = new HashMap<>();
    private final Holdfast client;
    private final Engine engine;
    private final List<LocalTurn> turns = new ArrayList<>();
    private int threadsBegun;
    /** Whether it has died, or its client is closed. */
    boolean gone;

    SimulatedProcess(World world, String name, boolean queues) {
        super(name);
        this.world = world;
        Chance chance = world.chance();
        long tooFast = world.plant() == Plant.SLOW_CLOCKS ? -SLOW_CLOCK_PPM : anyRate(chance);
        this.clock = new SimulatedClock(world, chance.any(), tooFast);
        this.network = new SimulatedNetwork(world, this, queues);
        Holdfast.Builder settings = Holdfast.builder().store(network).clock(clock);
        if (chance.once(EXECUTOR_ONCE_IN)) {
            settings.callbacks(this::runForUser);
        }
        this.client = Engines.simulated(settings, this);
        this.engine = Engines.of(client);
        world.join(this);
    }

    // An executor of the user's that is busy with something else now and then.
    private void runForUser(Runnable callback) {
        boolean busy = world.weather() != Weather.CLEAR && world.chance().once(BUSY_ONCE_IN);
        world.send(this, world.chance().mostlyShort(busy ? MOST_BUSY : MOST_WAIT), "calls back", callback);
    }

    // Often as slow or as fast as is allowed, where mistakes show most.
    private static long anyRate(Chance chance) {
        long rate = chance.below(2 * CLOCK_PPM) - CLOCK_PPM;
        return chance.once(3) ? rate : rate < 0 ? -CLOCK_PPM : CLOCK_PPM;
    }

    SimulatedClock clock() {
        return clock;
    }

    Holdfast client() {
        return client;
    }

    Engine engine() {
        return engine;
    }

    SimulatedNetwork network() {
        return network;
    }

    // ---- its threads ----

    /** @param takesLocks whether it may be in the local queue of a lock */
    SimulatedThread newThread(boolean takesLocks) {
        SimulatedThread thread = new SimulatedThread(world, this, threadsBegun++, takesLocks);
        threads.add(thread);
        return thread;
    }

    /** Ends a thread wherever it is. */
    void end(SimulatedThread thread) {
        threads.removeIf(one -> one == thread);
        thread.kill();
    }

    void endThreads() {
        List.copyOf(threads).forEach(this::end);
    }

    /** Of each of its threads that is in a call and may take a lock, but for one, whether that is over. */
    List<BooleanSupplier> callsBut(SimulatedThread self) {
        return threads.stream()
                .filter(thread -> thread != self && !thread.isIdle() && thread.takesLocks())
                .map(SimulatedThread::isOver)
                .collect(Collectors.toCollection(ArrayList::new));
    }

    /** The turns for which its threads wait. */
    List<LocalTurn> turns() {
        return turns;
    }

    /** A condition of a lock for all threads of this process. */
    SimulatedCondition condition(SharedName name, DistributedLock lock, boolean isLocal) {
        return conditions.computeIfAbsent(
                name + (isLocal ? "" : SimulatedCondition.WAIT_SET),
                unused -> new SimulatedCondition(world, name, lock, isLocal));
    }

    // ---- the engine's work ----

    @Override
    public void later(Runnable work) {
        if (world.plant() == Plant.WORK_IS_LOST && world.chance().once(WORK_IS_LOST_ONCE_IN)) {
            return;
        }
        if (world.chance().once(WORK_WAITS_ONCE_IN)) {
            world.send(this, world.chance().mostlyShort(MOST_WAIT), "works late", work);
        } else {
            add(new Work("works", work));
        }
    }

    @Override
    public void began(Agenda<?> agenda) {
        agendas.add(agenda);
    }

    @Override
    public long random(long bound) {
        return world.chance().below(bound);
    }

    @Override
    public void await(BooleanSupplier condition, long nanos) {
        world.workUntil(condition, nanos);
    }

    @Override
    int ready() {
        int due = 0;
        for (Agenda<?> agenda : agendas) {
            due += isDue(agenda) ? 1 : 0;
        }
        for (SimulatedThread thread : threads) {
            due += thread.isDue() ? 1 : 0;
        }
        return super.ready() + due;
    }

    @Override
    Work take(int which) {
        int left = which - super.ready();
        if (left < 0) {
            return super.take(which);
        }
        for (Agenda<?> agenda : agendas) {
            if (isDue(agenda) && left-- == 0) {
                return new Work("looks at its agenda", agenda::pass);
            }
        }
        for (SimulatedThread thread : threads) {
            if (thread.isDue() && left-- == 0) {
                return new Work(thread + " goes on", thread::goOn);
            }
        }
        throw new AssertionError("There is no such work");
    }

    private boolean isDue(Agenda<?> agenda) {
        // Before the engine is complete, nothing is scheduled.
        return !dead && agenda.wakeAt() != Nanos.NEVER && agenda.wakeAt() <= engine.now();
    }

    @Override
    long wakesAt() {
        long next = Nanos.NEVER;
        if (!dead) {
            for (Agenda<?> agenda : agendas) {
                next = Math.min(next, agenda.wakeAt());
            }
        }
        long wakes = next == Nanos.NEVER
                ? Long.MAX_VALUE
                : world.now() + clock.trueTimeFor(Math.max(0, next - engine.now()));
        for (SimulatedThread thread : threads) {
            wakes = Math.min(wakes, thread.wakesAt());
        }
        return wakes;
    }
}
