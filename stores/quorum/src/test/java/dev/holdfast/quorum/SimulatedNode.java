package dev.holdfast.quorum;

import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.testkit.StoreTest;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** A server of a simulated quorum. What reaches it while it is frozen is handled when it goes on; while it is down, never. */
final class SimulatedNode {

    private final MonotonicClock clock;
    private final List<Consumer<LockStore>> inbox = new ArrayList<>();
    private LockStore data;
    private boolean down;
    private boolean frozen;

    SimulatedNode(MonotonicClock clock) {
        this.clock = clock;
        this.data = new MemoryLockStore(clock);
    }

    LockStore data() {
        return data;
    }

    boolean isDown() {
        return down;
    }

    void arrives(Consumer<LockStore> request) {
        if (frozen) {
            inbox.add(request);
        } else if (!down) {
            request.accept(data);
        }
    }

    void goesDown() {
        down = true;
        inbox.clear();
    }

    void losesItsData() {
        data = new MemoryLockStore(clock);
    }

    void freezes() {
        frozen = true;
    }

    void isWell() {
        down = false;
        frozen = false;
        List<Consumer<LockStore>> kept = List.copyOf(inbox);
        inbox.clear();
        kept.forEach(request -> request.accept(data));
    }

    List<ResourceState.Entry> holders(LockName name) {
        return StoreTest.get(data.inspect(name)).stream()
                .flatMap(state -> state.holders().stream())
                .toList();
    }
}
