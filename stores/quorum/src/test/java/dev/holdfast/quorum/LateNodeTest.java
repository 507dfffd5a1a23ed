package dev.holdfast.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.spi.StoreTraits;
import dev.holdfast.spi.StoreTraits.Kinds;
import dev.holdfast.spi.StoreTraits.NodeRole;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.StoreTest;
import dev.holdfast.testkit.fault.ForwardingStore;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

/** A node that is opened after the quorum. */
class LateNodeTest extends StoreTest {

    private static final StoreTraits SIBLING = new MemoryLockStore().traits();

    private final Claimant carol = new Claimant("carol", Duration.ofMinutes(1));
    private final AtomicBoolean closed = new AtomicBoolean();

    private LateNode late(Supplier<LockStore> opener) {
        return new LateNode("example://late", opener, SIBLING);
    }

    /** A store that notes that it is closed. */
    private LockStore noting(StoreTraits traits) {
        return new ForwardingStore(new MemoryLockStore()) {
            @Override
            public StoreTraits traits() {
                return traits;
            }

            @Override
            public void close() {
                closed.set(true);
                super.close();
            }
        };
    }

    @Test
    void eachCallTriesToOpenItUntilThatSucceeds() {
        AtomicBoolean up = new AtomicBoolean();
        LateNode node = late(() -> {
            if (!up.get()) {
                throw StoreException.unavailable(Effect.NONE, "down", null);
            }
            return new MemoryLockStore();
        });
        assertThatThrownBy(() -> node.tryAcquire(carol.mutex(name))).hasMessage("down");
        up.set(true);
        granted(node, carol.mutex(name));
        up.set(false);
        assertThat(released(node, carol.mutex(name))).isFalse();
    }

    @Test
    void storeThatPromisesLessThanTheQuorumIsRefusedAndClosed() {
        for (StoreTraits weaker : new StoreTraits[] {SIBLING.withNode(NodeRole.NONE), SIBLING.withKinds(Kinds.MUTEX)}) {
            closed.set(false);
            assertThatThrownBy(() -> late(() -> noting(weaker)).tryAcquire(carol.mutex(name)))
                    .isInstanceOfSatisfying(
                            StoreException.class,
                            refused -> assertThat(refused.retryable()).isFalse())
                    .hasMessageContaining("example://late");
            assertThat(closed).isTrue();
        }
    }

    @Test
    void storeThatIsOpenedWhileTheNodeIsClosedIsClosedToo() {
        AtomicReference<LateNode> node = new AtomicReference<>();
        node.set(late(() -> {
            node.get().close();
            return noting(SIBLING);
        }));
        assertThatThrownBy(() -> node.get().tryAcquire(carol.mutex(name))).hasMessageContaining("is closed");
        assertThat(closed).isTrue();
    }
}
