package dev.holdfast.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.jdbc.SqliteLockStoreProvider;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.StoreTest;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Stores that cannot be nodes, and nodes that refuse to vote, are named with the reason when a quorum is made. */
class RefusedNodesTest extends StoreTest {

    private final MemoryNodes memory = new MemoryNodes(3, MonotonicClock.SYSTEM);

    @Test
    void eachNodeThatCannotBeOneIsNamedWithTheReason(@TempDir Path folder) {
        List<LockStore> stores = List.of(
                memory.node(0).handle(),
                closing(new SqliteLockStoreProvider().open("sqlite:" + folder.resolve("a.db"), MonotonicClock.SYSTEM)),
                closing(memory.open(MemoryNodes.NEW)));
        assertThatThrownBy(() -> QuorumLockStore.over(stores, MemoryNodes.NEW))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(stores.get(1) + ", because it does not show since when it has kept its data")
                .hasMessageContaining("quorum of")
                .hasMessageContaining("because it has nodes of its own")
                .hasMessageContaining("Use single Redis servers, single PostgreSQL servers");
    }

    /** The other two are a majority, but the quorum would not have the redundancy that it is made for. */
    @Test
    void nodeThatRefusesToVoteIsNamedThoughTheOthersAreAMajority() {
        memory.node(2).forbids("tryAcquireAsNode");
        assertThatThrownBy(() -> memory.open(MemoryNodes.NEW))
                .isInstanceOfSatisfying(
                        StoreException.class,
                        failure -> assertThat(failure.retryable()).isFalse())
                .hasMessageContaining("refuses")
                .hasMessageContaining("no permission");
    }
}
