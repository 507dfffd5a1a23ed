package dev.holdfast.zookeeper;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The nodes of a lock in their order, and who of them holds: as many from the first on as fit together. That is the law of
 * admission and of the queue in one, and each client that lists the folder comes to the same answer; so nobody has to write
 * down who holds.
 *
 * <p>The kind is that of the first node. One of another kind behind it holds nothing and lets nobody pass; its owner removes
 * it as soon as it sees this.
 *
 * <p>Immutable.
 */
final class NodeQueue {

    // Differences, and not numbers, are compared, because the server's count goes on from the largest int to the
    // smallest.
    private static final Comparator<NodeName> ORDER = ((Comparator<NodeName>)
                    (a, b) -> Integer.compare(a.sequence() - b.sequence(), 0))
            .thenComparing(node -> !node.isWrite())
            .thenComparing(NodeName::text);

    /** A folder in which nobody is. */
    static final NodeQueue EMPTY = new NodeQueue(List.of());

    private final List<NodeName> nodes;
    private final int holders;
    private final long granted;

    private NodeQueue(List<NodeName> nodes) {
        this.nodes = nodes;
        long sum = 0;
        int count = 0;
        for (NodeName node : nodes) {
            if (node.limit() != limit() || sum + node.permits() > limit()) {
                break;
            }
            sum += node.permits();
            count++;
        }
        this.holders = count;
        this.granted = sum;
    }

    /** @param children the names in the folder; what is no node of a lock is left out */
    static NodeQueue of(List<String> children) {
        List<NodeName> nodes = new ArrayList<>(children.size());
        for (String child : children) {
            NodeName node = NodeName.parse(child);
            if (node != null) {
                nodes.add(node);
            }
        }
        nodes.sort(ORDER);
        return new NodeQueue(nodes);
    }

    /** The same, with one node in the place of another. */
    NodeQueue with(NodeName old, NodeName replacement) {
        List<NodeName> changed = new ArrayList<>(nodes);
        changed.replaceAll(node -> node.equals(old) ? replacement : node);
        return new NodeQueue(changed);
    }

    /** The kind; 0 if nobody is here. */
    int limit() {
        return nodes.isEmpty() ? 0 : nodes.get(0).limit();
    }

    List<NodeName> holders() {
        return nodes.subList(0, holders);
    }

    List<NodeName> waiters() {
        return nodes.subList(holders, nodes.size());
    }

    List<NodeName> all() {
        return nodes;
    }

    /** The nodes of a claim: one, unless a copy of its request came late. */
    List<NodeName> of(ClaimId id) {
        return nodes.stream().filter(node -> node.id().equals(id)).toList();
    }

    /** How many nodes are before this one; -1 if it is not here. */
    int before(String node) {
        for (int i = 0; i < nodes.size(); i++) {
            if (nodes.get(i).text().equals(node)) {
                return i;
            }
        }
        return -1;
    }

    boolean isHolder(int index) {
        return index < holders;
    }

    /** How many wait before the node at this index. */
    int position(int index) {
        return index - holders;
    }

    /** Whether anybody is behind the node at this index. */
    boolean isLast(int index) {
        return index == nodes.size() - 1;
    }

    NodeName get(int index) {
        return nodes.get(index);
    }

    /** The last write lock before this index; null if there is none. */
    @Nullable
    NodeName lastWriteBefore(int index) {
        for (int i = index - 1; i >= 0; i--) {
            if (nodes.get(i).isWrite()) {
                return nodes.get(i);
            }
        }
        return null;
    }

    /** Whether somebody holds what a claim that is not here would need. */
    boolean isTaken(Claim claim) {
        return holders > 0 && (limit() != claim.limit() || claim.permits() > claim.limit() - granted);
    }

    /** Whether the node at this index is of another kind than the lock. */
    boolean isOfAnotherKind(int index) {
        return nodes.get(index).limit() != limit();
    }
}
