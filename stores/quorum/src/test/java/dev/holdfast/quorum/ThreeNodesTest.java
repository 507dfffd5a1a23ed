package dev.holdfast.quorum;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;
import java.util.Optional;

/** The laws, over three stores in memory. */
class ThreeNodesTest extends LockStoreTck {

    private MemoryNodes nodes = new MemoryNodes(nodes(), MonotonicClock.SYSTEM);

    int nodes() {
        return 3;
    }

    @Override
    protected LockStore open(MonotonicClock clock) {
        nodes = new MemoryNodes(nodes(), clock);
        return nodes.open(MemoryNodes.NEW);
    }

    @Override
    protected Optional<LockStore> openAnother(MonotonicClock clock) {
        return Optional.of(nodes.open(MemoryNodes.NEW));
    }
}
