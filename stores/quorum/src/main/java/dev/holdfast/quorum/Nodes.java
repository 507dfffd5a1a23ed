package dev.holdfast.quorum;

import java.time.Duration;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/** The nodes of a quorum, and what is a majority of them. Thread-safe. */
final class Nodes implements Iterable<Node> {

    private static final long ANSWERS_POLL_NANOS = 1_000_000;

    private final List<Node> nodes;
    private final int majority;

    Nodes(List<Node> nodes) {
        this.nodes = List.copyOf(nodes);
        this.majority = nodes.size() / 2 + 1;
    }

    int size() {
        return nodes.size();
    }

    int majority() {
        return majority;
    }

    /**
     * The token of a grant, from the counters that a majority at least has given it. A node that granted late may have a larger
     * one, which was never handed out; one that was not in time to raise its own has a smaller one. If nodes have not answered,
     * it may be smaller than what was handed out.
     */
    long token(Stream<Long> counters) {
        return reached(counters);
    }

    /** The largest value that a majority has reached, of the values that a majority at least has. */
    <T extends Comparable<T>> T reached(Stream<T> values) {
        List<T> sorted = values.sorted().toList();
        return sorted.get(sorted.size() - majority);
    }

    Node get(int index) {
        return nodes.get(index);
    }

    /**
     * Which nodes are worth a request: those in rotation, or all of them if those in rotation are no majority. The index is
     * that of the node.
     */
    boolean[] worthAsking() {
        boolean[] worth = new boolean[nodes.size()];
        int count = 0;
        for (int i = 0; i < worth.length; i++) {
            worth[i] = nodes.get(i).isInRotation();
            count += worth[i] ? 1 : 0;
        }
        if (count < majority) {
            Arrays.fill(worth, true);
        }
        return worth;
    }

    /** Whether this node is {@linkplain #worthAsking() worth a request}. */
    boolean isWorthAsking(Node node) {
        return node.isInRotation() || worthAsking()[node.index()];
    }

    /**
     * Waits until the nodes have answered what they were asked, for this time at the most. A release that is on its way when its
     * connection is closed may not arrive, and the node would keep the claim until its lease is over.
     */
    void awaitAnswers(Duration most) {
        // By the system's clock: this must end also when a test's clock stands still.
        long deadline = System.nanoTime() + most.toNanos();
        boolean interrupted = false;
        while (nodes.stream().anyMatch(Node::isAsked) && System.nanoTime() - deadline < 0) {
            LockSupport.parkNanos(this, ANSWERS_POLL_NANOS);
            interrupted |= Thread.interrupted();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Closes all of them. What one of them throws is thrown when the others are closed. */
    void close() {
        RuntimeException failure = null;
        for (Node node : nodes) {
            try {
                node.close();
            } catch (RuntimeException mistake) {
                failure = failure == null ? mistake : failure;
            }
        }
        if (failure != null) {
            throw failure;
        }
    }

    @Override
    public Iterator<Node> iterator() {
        return nodes.iterator();
    }
}
