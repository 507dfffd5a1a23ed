package dev.holdfast.quorum;

import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.NodeAttempt;
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
import java.util.concurrent.Executor;
import java.util.function.BiPredicate;
import java.util.function.Function;

/** Stores in memory as the nodes of one or more quorums. A node can be down, frozen, or lose its data. */
final class MemoryNodes {

    /** New nodes, and leases of any length. */
    static final QuorumOptions NEW = new QuorumOptions(Claim.MAX_LEASE, Duration.ofMillis(500), true);

    private static final BiPredicate<String, Object[]> NO_CALL = (name, arguments) -> false;

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
        return open(options, QuorumLockStore.TIMER);
    }

    /** @param later runs time limits and repetitions */
    QuorumLockStore open(QuorumOptions options, Function<Duration, Executor> later) {
        List<LockStore> stores = nodes.stream().map(MemoryNode::handle).toList();
        return QuorumLockStore.over(stores, options, clock, later);
    }

    final class MemoryNode {

        private volatile LockStore store = new MemoryLockStore(clock);
        private volatile long startedAt = clock.nanoTime();
        private volatile boolean down;
        private volatile boolean broken;
        private volatile boolean replyLost;
        /** Decides by a call's name and arguments whether it is held back, or fails without an effect. */
        private volatile BiPredicate<String, Object[]> heldBack = NO_CALL;

        private volatile String late = "";
        private volatile BiPredicate<String, Object[]> refused = NO_CALL;
        private volatile String forbidden = "";
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

        /** Requests take effect, but nobody learns of it. */
        void losesReplies(boolean value) {
            replyLost = value;
        }

        /** It answers nothing before all that it was asked is delivered. */
        void isFrozen() {
            heldBack = (name, arguments) -> true;
        }

        /** Calls of this name are on their way for as long as nobody delivers them. */
        void delays(String call) {
            heldBack = (name, arguments) -> name.equals(call);
        }

        /** Calls of this name take effect at once, but their replies are on their way until they are delivered. */
        void repliesLate(String call) {
            late = call;
        }

        void repliesAtOnce() {
            late = "";
        }

        /** The raisings of counters, and acquisitions by renewals, are on their way until they are delivered. */
        void delaysRaises() {
            heldBack = MemoryNodes::isRaise;
        }

        /** Calls of this name fail without an effect. */
        void refuses(String call) {
            refused = (name, arguments) -> name.equals(call);
        }

        /** Calls of this name are refused for good, as by a server whose rights were changed. */
        void forbids(String call) {
            forbidden = call;
        }

        void refusesRaises() {
            refused = MemoryNodes::isRaise;
        }

        void refusesNothing() {
            refused = NO_CALL;
            forbidden = "";
        }

        void delivers() {
            heldBack = NO_CALL;
            for (Runnable call = delayed.poll(); call != null; call = delayed.poll()) {
                call.run();
            }
        }

        void losesItsData() {
            store = new MemoryLockStore(clock);
            startsAgain();
        }

        /** It may have lost its data, as far as anybody can tell. */
        void startsAgain() {
            startedAt = clock.nanoTime();
        }

        // Closing it closes no other handle.
        LockStore handle() {
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
            if (isCall && refused.test(method.getName(), arguments)) {
                return CompletableFuture.failedStage(StoreException.unavailable(Effect.NONE, "refused", null));
            }
            if (method.getName().equals(forbidden)) {
                return CompletableFuture.failedStage(StoreException.refused("no permission", null));
            }
            if (isCall && heldBack.test(method.getName(), arguments)) {
                CompletableFuture<Object> reply = new CompletableFuture<>();
                delayed.add(() -> deliver(method, arguments, reply));
                return reply;
            }
            if (method.getName().equals(late)) {
                CompletableFuture<Object> reply = new CompletableFuture<>();
                CompletionStage<?> answer = (CompletionStage<?>) call(method, arguments, true);
                delayed.add(() -> pass(answer, reply));
                return reply;
            }
            return call(method, arguments, isCall);
        }

        private void deliver(Method method, Object[] arguments, CompletableFuture<Object> reply) {
            try {
                pass((CompletionStage<?>) call(method, arguments, true), reply);
            } catch (Throwable failure) {
                reply.completeExceptionally(failure);
            }
        }

        private static void pass(CompletionStage<?> answer, CompletableFuture<Object> reply) {
            answer.whenComplete((value, failure) -> {
                if (failure == null) {
                    reply.complete(value);
                } else {
                    reply.completeExceptionally(failure);
                }
            });
        }

        private NodeAttempt aged(NodeAttempt attempt) {
            return new NodeAttempt(attempt.attempt(), startedAt, Duration.ofNanos(clock.nanoTime() - startedAt));
        }

        private Object call(Method method, Object[] arguments, boolean isCall) throws Throwable {
            try {
                Object answer = method.getName().equals("tryAcquireAsNode")
                        ? store.tryAcquireAsNode((Claim) arguments[0], (long) arguments[1], (boolean) arguments[2])
                                .thenApply(this::aged)
                        : method.invoke(store, arguments);
                return isCall && replyLost
                        ? CompletableFuture.failedStage(
                                StoreException.unavailable(Effect.UNKNOWN, "the reply was lost", null))
                        : answer;
            } catch (InvocationTargetException thrown) {
                throw thrown.getCause();
            }
        }
    }

    private static boolean isRaise(String call, Object[] arguments) {
        return call.equals("tryAcquireAsNode") && (boolean) arguments[2];
    }
}
