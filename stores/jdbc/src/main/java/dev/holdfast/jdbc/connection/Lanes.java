package dev.holdfast.jdbc.connection;

import dev.holdfast.spi.LockName;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.store.BlockingCalls;
import dev.holdfast.store.TimeLimit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The connections for work. A call takes a lane that is free, on the caller's own thread where that may work; if all are busy it
 * waits at the one with the fewest calls. Calls about one name that come while another is under way use the same
 * lane, and so do those of the few names that share a slot with it. So a name whose row is locked or contended keeps one lane busy
 * and no more, a lane that hangs gets no calls of names in other slots while there is one that does not, and clients do not race
 * against themselves, but for calls about several names, which go by the first of them.
 * Thread-safe.
 */
public final class Lanes implements AutoCloseable {

    /** Names that share a slot use the same lane at the same time. With so many, few do. */
    private static final int SLOTS_OF_A_LANE = 64;

    /** A call that takes longer hangs, perhaps. At a healthy server it has waited for a locked row by then. */
    private static final long HANGS_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** More than ever use a lane or wait for it. */
    private static final int MOST_USERS = 1 << 30;

    /** A connection, and how many calls use it or wait for it. */
    private static final class Lane {
        private final SerialConnection connection;
        private final BlockingCalls calls;
        private int users;
        /** When a call found the lane free, or the last one was seen to be over. */
        private long moved;
        /** How many calls were over then. */
        private long turns;

        Lane(SerialConnection connection, BlockingCalls calls) {
            this.connection = connection;
            this.calls = calls;
        }
    }

    /** Some names, and the lane of those of their calls that are under way. */
    private static final class Slot {
        private Lane lane;
        private int users;

        Slot(Lane lane) {
            this.lane = lane;
        }
    }

    private final List<Lane> lanes = new ArrayList<>();
    private final Slot[] slots;
    private final MonotonicClock clock;

    /**
     * @param connections makes a connection for each lane
     * @param threads the prefix of the names of threads, of which each lane has one
     * @param callerMayWork whether calls may run on the caller's thread
     * @param turns limits how long a call waits for its lane's thread
     * @param clock measures how long calls take
     */
    public Lanes(
            int count,
            Supplier<SerialConnection> connections,
            String threads,
            boolean callerMayWork,
            TimeLimit turns,
            MonotonicClock clock) {
        this.clock = clock;
        for (int i = 0; i < count; i++) {
            lanes.add(new Lane(connections.get(), new BlockingCalls(threads + "-" + i, 1, callerMayWork, turns)));
        }
        slots = new Slot[count * SLOTS_OF_A_LANE];
        for (int i = 0; i < slots.length; i++) {
            slots[i] = new Slot(lanes.get(0));
        }
    }

    /** Makes a call about a name. */
    public <T> CompletionStage<T> call(LockName name, Function<SerialConnection, T> call) {
        Slot slot = slots[Math.floorMod(name.hashCode(), slots.length)];
        Lane lane = enter(slot);
        CompletionStage<T> made;
        try {
            made = lane.calls.call(() -> call.apply(lane.connection));
        } catch (Throwable broken) {
            leave(slot, lane);
            throw broken;
        }
        made.whenComplete((answer, failure) -> leave(slot, lane));
        return made;
    }

    private synchronized Lane enter(Slot slot) {
        if (slot.users++ == 0) {
            slot.lane = leastUsed();
        }
        if (slot.lane.users++ == 0) {
            slot.lane.moved = clock.nanoTime();
            slot.lane.turns = slot.lane.connection.turns();
        }
        return slot.lane;
    }

    // The first of them, so that no more connections are opened than calls are made at once.
    private Lane leastUsed() {
        Lane least = lanes.get(0);
        for (int i = 1; i < lanes.size() && least.users > 0; i++) {
            if (users(lanes.get(i)) < users(least)) {
                least = lanes.get(i);
            }
        }
        return least;
    }

    private int users(Lane lane) {
        long turns = lane.connection.turns();
        if (turns != lane.turns) {
            lane.turns = turns;
            lane.moved = clock.nanoTime();
        }
        boolean hangs = lane.users > 0 && clock.nanoTime() - lane.moved > HANGS_NANOS;
        return hangs ? MOST_USERS + lane.users : lane.users;
    }

    private synchronized void leave(Slot slot, Lane lane) {
        slot.users--;
        lane.users--;
    }

    /** Some connection for work, for calls that are about no name. */
    public SerialConnection any() {
        return lanes.get(0).connection;
    }

    @Override
    public void close() {
        lanes.forEach(lane -> lane.calls.close());
        lanes.forEach(lane -> lane.connection.close());
    }
}
