package dev.holdfast.quorum;

import dev.holdfast.quorum.SimulatedNetwork.Defect;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.spi.ResourceState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;

/**
 * One run: clients contend for a few names while nodes go down, freeze and lose data, and clients are paused. Then all is well
 * again, and what is free must be so.
 *
 * <p>Half of the runs are <em>short</em>: no message is on its way for longer than a tombstone lasts, and no data are lost.
 * After these nothing at all may be left behind, as soon as all messages have arrived. After the others it may be, for a lease.
 */
final class QuorumSimulation {

    private static final Duration NODE_TIMEOUT = Duration.ofMillis(200);
    private static final Duration SPAN = Duration.ofSeconds(30);
    /** Longer than messages, repetitions and the clients' patience take in a short run. */
    private static final Duration SETTLING = Duration.ofSeconds(6);

    private static final int WORKERS = 2;
    private static final long MILLI = 1_000_000;

    private final Random random;
    private final boolean isShort;
    private final Duration lease;
    private final Duration maxLease;
    /** Which misfortune is the usual one. */
    private final int usual;

    private final SimulatedTime time;
    private final SimulatedNetwork network;
    private final HoldChecker checker;
    private final Map<String, Integer> met;
    private final List<SimulatedClient> clients = new ArrayList<>();
    private final List<LockName> names = List.of(new LockName("mutex"), new LockName("rw"));
    private final SimulatedClient operator;
    private boolean faults = true;

    QuorumSimulation(long seed, Defect defect, Map<String, Integer> met) {
        this.random = new Random(seed * 0x9E3779B97F4A7C15L); // the first numbers of small seeds are alike
        this.isShort = random.nextBoolean();
        this.lease = Duration.ofSeconds(isShort ? 25 : 6);
        this.maxLease = lease.plusSeconds(1);
        this.usual = random.nextInt(5);
        this.met = met;
        this.time = new SimulatedTime(seed);
        int nodes = random.nextInt(4) == 0 ? 5 : 3;
        this.checker = new HoldChecker(time, nodes / 2 + 1);
        this.network = isShort
                ? new SimulatedNetwork(time, random, nodes, checker, defect, 1_400, 300, 300, 700)
                : new SimulatedNetwork(time, random, nodes, checker, defect, 15_000, 700, 700, 700, 20_000);
        time.run(maxLease.plusSeconds(1));
        this.operator = newClient("operator");
        clients.add(operator);
        int count = 2 + random.nextInt(3);
        for (int i = 0; i < count; i++) {
            clients.add(newClient("client" + i));
        }
    }

    private SimulatedClient newClient(String title) {
        SimulatedNetwork.Process process = network.new Process();
        QuorumOptions options = new QuorumOptions(maxLease, NODE_TIMEOUT, false);
        QuorumLockStore store = QuorumLockStore.over(network.seenBy(process), options, time.clock(), process::later);
        process.isOpen();
        return new SimulatedClient(time, random, process, store, checker, names, met, lease, title);
    }

    void run() {
        network.isCalm(false);
        for (SimulatedClient client : clients.subList(1, clients.size())) {
            for (int i = 0; i < WORKERS; i++) {
                client.works();
            }
        }
        operator.operates();
        misfortune();
        time.run(SPAN);
        faults = false;
        network.isCalm(true);
        network.forEachNode(SimulatedNode::isWell);
        clients.forEach(client -> client.process().goesOn());
        clients.forEach(SimulatedClient::stops);
        time.run(SETTLING);
        if (isShort) {
            checkNothingIsLeftBehind();
        }
        time.run(lease.plus(maxLease).plusSeconds(30));
        check(clients.stream().allMatch(SimulatedClient::isIdle), "a client waits for ever");
        checkAllIsFree();
        met.merge("requests", (int) network.requests(), Integer::sum);
        met.merge("broken at a majority", checker.broken(), Integer::sum);
    }

    private void check(boolean holds, String otherwise) {
        if (!holds) {
            throw new AssertionError(otherwise);
        }
    }

    private void misfortune() {
        if (!faults) {
            return;
        }
        time.after((500 + random.nextInt(4_000)) * MILLI, this::misfortune);
        long lasts = (isShort ? 1 + random.nextInt(1_500) : 1 + random.nextInt(15_000)) * MILLI;
        SimulatedNode node = network.node(random.nextInt(network.size()));
        switch (random.nextBoolean() ? usual : random.nextInt(5)) {
            case 0 -> {
                node.goesDown();
                time.after(lasts, node::isWell);
            }
            case 1, 2 -> {
                node.freezes();
                time.after(lasts, node::isWell);
            }
            case 3 -> {
                node.goesDown();
                if (!isShort) {
                    node.losesItsData();
                }
                time.after(random.nextInt(500) * MILLI, node::isWell);
            }
            default -> {
                SimulatedNetwork.Process process =
                        clients.get(random.nextInt(clients.size())).process();
                process.pauses();
                time.after(lasts, process::goesOn);
            }
        }
    }

    // What a dead owner holds ends with its lease.
    private void checkNothingIsLeftBehind() {
        network.forEachNode(node -> {
            for (LockName name : names) {
                for (ResourceState.Entry entry : node.holders(name)) {
                    check(
                            clients.stream().anyMatch(client -> client.hasAbandoned(entry.claim())),
                            "a node still keeps " + entry.claim());
                }
            }
        });
    }

    private void checkAllIsFree() {
        network.forEachNode(node -> names.forEach(
                name -> check(node.holders(name).isEmpty(), "a node keeps " + name + " for longer than a lease")));
        // The first search closes what dead owners have held, and the ids are kept for a while.
        clients.forEach(client -> client.store().remembered());
        time.run(maxLease.plus(SETTLING));
        for (SimulatedClient client : clients) {
            check(client.store().remembered() == 0, "a client remembers what is over");
            for (LockName name : names) {
                ClaimId id = new ClaimId("last", random.nextInt(Integer.MAX_VALUE));
                Claim claim = new Claim(name, id, 1, 1, lease, OwnerInfo.of(id + "/1"));
                CompletableFuture<Attempt> attempt =
                        client.store().tryAcquire(claim).toCompletableFuture();
                time.run(Duration.ofSeconds(1));
                check(attempt.isDone() && !attempt.isCompletedExceptionally(), "no answer for " + name);
                check(attempt.join() instanceof Granted, name + " is free, but was refused");
                client.store().release(claim);
                time.run(Duration.ofSeconds(1));
            }
        }
    }
}
