package dev.holdfast.quorum;

import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;

/** Stores in memory as the nodes of one or more quorums. A node can be down, frozen, or lose its data. */
final class MemoryNodes {

    /** New nodes, and leases of any length. */
    static final QuorumOptions NEW = new QuorumOptions(Claim.MAX_LEASE, Duration.ofMillis(500), true);

    private final MonotonicClock clock;
    private final List<MemoryNode> nodes = new ArrayList<>();

    MemoryNodes(int count, MonotonicClock clock) {
        this.clock = clock;
        for (int i = 0; i < count; i++) {
            nodes.add(new MemoryNode());
        }
    }

    MemoryNode node(int index) {
        return nodes.get(index);
    }

    QuorumLockStore open(QuorumOptions options) {
        List<LockStore> stores = nodes.stream().map(MemoryNode::handle).toList();
        return QuorumLockStore.over(
                stores,
                options,
                clock,
                delay -> CompletableFuture.delayedExecutor(
                        delay.toNanos(), java.util.concurrent.TimeUnit.NANOSECONDS, Runnable::run));
    }

    final class MemoryNode {

        private volatile LockStore store = new MemoryLockStore(clock);
        private volatile boolean down;
        private volatile boolean broken;
        private volatile boolean replyLost;
        private volatile boolean delaying;
        private final Queue<Runnable> delayed = new ConcurrentLinkedQueue<>();

        LockStore store() {
            return store;
        }

        /** Requests are refused, as by a server that is not there. */
        void isDown(boolean value) {
            down = value;
        }

        /** Requests fail with an exception that is thrown, not with a stage that fails. */
        void isBroken() {
            broken = true;
        }

        /** Requests take effect, but nobody hears of it. */
        void losesReplies(boolean value) {
            replyLost = value;
        }

        /** Releases are on their way for as long as nobody delivers them. */
        void delaysReleases() {
            delaying = true;
        }

        void deliversReleases() {
            delaying = false;
            for (Runnable release = delayed.poll(); release != null; release = delayed.poll()) {
                release.run();
            }
        }

        void losesItsData() {
            store = new MemoryLockStore(clock);
        }

        // Closing it closes no other handle.
        private LockStore handle() {
            return (LockStore) Proxy.newProxyInstance(
                    LockStore.class.getClassLoader(),
                    new Class<?>[] {LockStore.class},
                    (proxy, method, arguments) -> answer(method, arguments));
        }

        private Object answer(Method method, Object[] arguments) throws Throwable {
            if (method.getName().equals("close")) {
                return null;
            }
            boolean isCall = CompletionStage.class.isAssignableFrom(method.getReturnType());
            if (isCall && down) {
                return CompletableFuture.failedStage(StoreException.unavailable(Effect.NONE, "the node is down", null));
            }
            if (isCall && broken) {
                throw new IllegalStateException("the node is broken");
            }
            if (delaying && method.getName().equals("release")) {
                CompletableFuture<Object> reply = new CompletableFuture<>();
                delayed.add(() -> store.release((Claim) arguments[0]).whenComplete((released, failure) -> {
                    if (failure == null) {
                        reply.complete(released);
                    } else {
                        reply.completeExceptionally(failure);
                    }
                }));
                return reply;
            }
            try {
                Object answer = method.invoke(store, arguments);
                return isCall && replyLost
                        ? CompletableFuture.failedStage(
                                StoreException.unavailable(Effect.UNKNOWN, "the reply was lost", null))
                        : answer;
            } catch (InvocationTargetException thrown) {
                throw thrown.getCause();
            }
        }
    }
}
