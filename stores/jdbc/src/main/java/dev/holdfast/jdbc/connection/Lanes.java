package dev.holdfast.jdbc.connection;

import dev.holdfast.spi.LockName;
import dev.holdfast.store.BlockingCalls;
import dev.holdfast.store.TimeLimit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The connections for work. All calls about one name use the same one, chosen by the hash of the name, so a name whose row is
 * locked or contended delays only those that share its lane. Thread-safe.
 */
public final class Lanes implements AutoCloseable {

    private record Lane(SerialConnection connection, BlockingCalls calls) {}

    private final List<Lane> lanes = new ArrayList<>();

    /**
     * @param connections makes a connection for each lane
     * @param threads the prefix of the names of threads, of which each lane has one
     * @param callerMayWork whether calls may run on the caller's thread
     * @param turns limits how long a call waits for its lane's thread
     */
    public Lanes(
            int count, Supplier<SerialConnection> connections, String threads, boolean callerMayWork, TimeLimit turns) {
        for (int i = 0; i < count; i++) {
            lanes.add(new Lane(connections.get(), new BlockingCalls(threads + "-" + i, 1, callerMayWork, turns)));
        }
    }

    /** Makes a call on the lane of a name. */
    public <T> CompletionStage<T> call(LockName name, Function<SerialConnection, T> call) {
        return call(lanes.get(Math.floorMod(name.hashCode(), lanes.size())), call);
    }

    private static <T> CompletionStage<T> call(Lane lane, Function<SerialConnection, T> call) {
        return lane.calls().call(() -> call.apply(lane.connection()));
    }

    /** Some connection for work, for calls that are about no name. */
    public SerialConnection any() {
        return lanes.get(0).connection();
    }

    @Override
    public void close() {
        lanes.forEach(lane -> lane.calls().close());
        lanes.forEach(lane -> lane.connection().close());
    }
}
