package dev.holdfast.quorum;

import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.NodeAttempt;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.spi.StoreTraits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * The way between the clients and the nodes of a simulated quorum. Each request and each reply is on its way for a time of its
 * own, so that any may overtake any other, or is lost. None comes twice.
 */
final class SimulatedNetwork {

    /** A defect of the quorum, as it looks from the network. The simulation must find it. */
    enum Defect {
        NONE,
        /** Each attempt uses the claim's own id, as if a late release could not end the grant of a later attempt. */
        IDS_ARE_REUSED,
        /** A counter is not raised before the token is handed out. */
        NO_WRITE_BACK,
        /** A node that has lost its data is counted at once. */
        AGE_IS_IGNORED,
        /** A release leaves no tombstone for the requests that may arrive after it. */
        NO_TOMBSTONES
    }

    private static final StoreTraits TRAITS = new MemoryLockStore().traits();
    private static final long MILLI = 1_000_000;

    private final SimulatedTime time;
    private final Random random;
    private final List<SimulatedNode> nodes = new ArrayList<>();
    private final HoldChecker checker;
    private final Defect defect;
    private final double losses;
    private final double slow;
    private final long slowest;
    private final long[] patience;
    private boolean calm = true;
    private long requests;

    /**
     * @param slowest how long a slow message is on its way at most, in milliseconds
     * @param patience after how many milliseconds the library of a client fails a call, the one or the other
     */
    SimulatedNetwork(
            SimulatedTime time,
            Random random,
            int nodes,
            HoldChecker checker,
            Defect defect,
            long slowest,
            long... patience) {
        this.time = time;
        this.random = random;
        this.checker = checker;
        this.defect = defect;
        this.losses = new double[] {0, 0.02, 0.1}[random.nextInt(3)];
        this.slow = new double[] {0.03, 0.15}[random.nextInt(2)];
        this.slowest = slowest;
        this.patience = patience;
        for (int i = 0; i < nodes; i++) {
            Duration wrongBy = Duration.ofMillis(random.nextInt(5_000) - 2_500);
            this.nodes.add(new SimulatedNode(time.serverClock(random.nextInt(8_000) - 4_000, wrongBy)));
        }
    }

    SimulatedNode node(int index) {
        return nodes.get(index);
    }

    int size() {
        return nodes.size();
    }

    int majority() {
        return nodes.size() / 2 + 1;
    }

    long requests() {
        return requests;
    }

    /** Whether all messages arrive, and at once. */
    void isCalm(boolean value) {
        calm = value;
    }

    /** The nodes as one client sees them. */
    List<LockStore> seenBy(Process process) {
        List<LockStore> links = new ArrayList<>();
        for (SimulatedNode node : nodes) {
            links.add(new Link(node, process));
        }
        return links;
    }

    /** The process of a client. While it is paused nothing happens in it; what is due then happens when it goes on. */
    final class Process {

        private final List<Runnable> backlog = new ArrayList<>();
        private boolean paused;
        private boolean opening = true;

        void isOpen() {
            opening = false;
        }

        void pauses() {
            paused = true;
        }

        void goesOn() {
            paused = false;
            List<Runnable> due = List.copyOf(backlog);
            backlog.clear();
            due.forEach(this::run);
        }

        void run(Runnable task) {
            if (paused) {
                backlog.add(task);
            } else {
                task.run();
            }
        }

        void after(long nanos, Runnable task) {
            time.after(nanos, () -> run(task));
        }

        Executor later(Duration delay) {
            return task -> after(delay.toNanos(), task);
        }
    }

    private long delay() {
        if (calm) {
            return random.nextInt(2_000) * 1_000L;
        }
        return random.nextDouble() < slow ? random.nextInt((int) slowest) * MILLI : random.nextInt(12_000) * 1_000L;
    }

    private boolean isLost() {
        return !calm && random.nextDouble() < losses;
    }

    private final class Link implements LockStore {

        private final SimulatedNode node;
        private final Process process;

        private Link(SimulatedNode node, Process process) {
            this.node = node;
            this.process = process;
        }

        private <T> CompletionStage<T> send(Function<LockStore, CompletionStage<T>> request) {
            if (process.opening) {
                return request.apply(node.data());
            }
            requests++;
            CompletableFuture<T> reply = new CompletableFuture<>();
            if (node.isDown() && random.nextInt(4) > 0) {
                fail(reply, MILLI, Effect.NONE);
                return reply;
            }
            if (!isLost()) {
                time.after(delay(), () -> node.arrives(data -> answer(request.apply(data), reply)));
            }
            // The client's library gives up at some time; by then the request may not have arrived.
            fail(reply, patience[random.nextInt(patience.length)] * MILLI, Effect.UNKNOWN);
            return reply;
        }

        private <T> void fail(CompletableFuture<T> reply, long after, Effect effect) {
            process.after(
                    after, () -> reply.completeExceptionally(StoreException.unavailable(effect, "no answer", null)));
        }

        private <T> void answer(CompletionStage<T> answer, CompletableFuture<T> reply) {
            if (isLost()) {
                return;
            }
            process.after(
                    delay(),
                    () -> answer.whenComplete((value, failure) -> {
                        if (failure == null) {
                            reply.complete(value);
                        } else {
                            reply.completeExceptionally(failure);
                        }
                    }));
        }

        @Override
        public CompletionStage<NodeAttempt> tryAcquireAsNode(Claim claim, long counter, boolean raise) {
            Claim sent = sent(claim);
            boolean lies = raise && defect == Defect.NO_WRITE_BACK;
            return this.<NodeAttempt>send(data -> data.tryAcquireAsNode(sent, lies ? 0 : counter, raise && !lies)
                            .thenApply(attempt -> noted(claim, attempt)))
                    .thenApply(attempt -> seen(attempt, lies ? counter : 0));
        }

        private NodeAttempt noted(Claim claim, NodeAttempt attempt) {
            if (attempt.attempt() instanceof Granted) {
                checker.grantedAtNode(claim, nodes.indexOf(node));
            }
            return attempt;
        }

        private NodeAttempt seen(NodeAttempt attempt, long least) {
            Attempt shown = attempt.attempt() instanceof Granted granted
                    ? new Granted(Math.max(granted.counter(), least), granted.lease())
                    : attempt.attempt();
            Duration age = defect == Defect.AGE_IS_IGNORED ? Claim.MAX_LEASE.multipliedBy(2) : attempt.age();
            return new NodeAttempt(shown, attempt.incarnation(), age);
        }

        @Override
        public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
            List<Claim> sent = claims.stream().map(this::sent).toList();
            return send(data -> data.renew(sent));
        }

        @Override
        public CompletionStage<Released> release(Claim claim) {
            Claim sent = sent(claim);
            return send(data -> data.release(sent).thenApply(released -> {
                if (released.wasOwner()) {
                    checker.releasedAtNode(claim, nodes.indexOf(node));
                }
                return released;
            }));
        }

        // As the defect changes it.
        private Claim sent(Claim claim) {
            ClaimId id = defect == Defect.IDS_ARE_REUSED ? HoldChecker.idOf(claim) : claim.id();
            boolean repeated = claim.repeated() && defect != Defect.NO_TOMBSTONES;
            return new Claim(claim.name(), id, claim.permits(), claim.limit(), claim.lease(), claim.owner(), repeated);
        }

        @Override
        public CompletionStage<Attempt> tryAcquire(Claim claim) {
            throw new UnsupportedOperationException("a quorum acquires as a node does");
        }

        @Override
        public CompletionStage<Optional<ResourceState>> inspect(LockName name) {
            return send(data -> data.inspect(name));
        }

        @Override
        public CompletionStage<List<LockName>> list(String prefix, int limit) {
            return send(data -> data.list(prefix, limit));
        }

        @Override
        public StoreTraits traits() {
            return TRAITS;
        }

        @Override
        public void close() {}
    }

    void forEachNode(Consumer<SimulatedNode> action) {
        nodes.forEach(action);
    }
}
