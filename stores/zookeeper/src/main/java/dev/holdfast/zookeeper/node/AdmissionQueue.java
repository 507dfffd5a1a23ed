package dev.holdfast.zookeeper.node;

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
public final class AdmissionQueue {

    // Differences, and not numbers, are compared, because the server's count goes on from the largest int to the
    // smallest.
    private static final Comparator<NodeName> ORDER = ((Comparator<NodeName>)
                    (a, b) -> Integer.compare(a.sequence() - b.sequence(), 0))
            .thenComparing(node -> !node.isWrite())
            .thenComparing(NodeName::text);

    /** A folder in which nobody is. */
    public static final AdmissionQueue EMPTY = new AdmissionQueue(List.of());

    private final List<NodeName> nodes;
    private final int holders;
    private final long granted;

    private AdmissionQueue(List<NodeName> nodes) {
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

    /**
     * The queue of the nodes in a folder.
     *
     * @param children the names in the folder; what is no node of a lock is left out
     */
    public static AdmissionQueue of(List<String> children) {
        List<NodeName> nodes = new ArrayList<>(children.size());
        for (String child : children) {
            NodeName node = NodeName.parse(child);
            if (node != null) {
                nodes.add(node);
            }
        }
        nodes.sort(ORDER);
        return new AdmissionQueue(nodes);
    }

    /** The same, with one node in the place of another. */
    public AdmissionQueue with(NodeName old, NodeName replacement) {
        List<NodeName> changed = new ArrayList<>(nodes);
        changed.replaceAll(node -> node.equals(old) ? replacement : node);
        return new AdmissionQueue(changed);
    }

    /** The kind; 0 if nobody is here. */
    public int limit() {
        return nodes.isEmpty() ? 0 : nodes.get(0).limit();
    }

    public List<NodeName> holders() {
        return nodes.subList(0, holders);
    }

    List<NodeName> waiters() {
        return nodes.subList(holders, nodes.size());
    }

    public List<NodeName> all() {
        return nodes;
    }

    /** The nodes of a claim: one, unless a copy of its request came late. */
    public List<NodeName> of(ClaimId id) {
        return nodes.stream().filter(node -> node.id().equals(id)).toList();
    }

    /** How many nodes are before this one; -1 if it is not here. */
    public int before(String node) {
        for (int i = 0; i < nodes.size(); i++) {
            if (nodes.get(i).text().equals(node)) {
                return i;
            }
        }
        return -1;
    }

    public boolean isHolder(int index) {
        return index < holders;
    }

    /** How many wait before the node at this index. */
    public int position(int index) {
        return index - holders;
    }

    /** Whether anybody is behind the node at this index. */
    public boolean isLast(int index) {
        return index == nodes.size() - 1;
    }

    public NodeName get(int index) {
        return nodes.get(index);
    }

    /** The last write lock before this index; null if there is none. */
    @Nullable
    public NodeName lastWriteBefore(int index) {
        for (int i = index - 1; i >= 0; i--) {
            if (nodes.get(i).isWrite()) {
                return nodes.get(i);
            }
        }
        return null;
    }

    /** Whether somebody holds what a claim that is not here would need. */
    public boolean isTaken(Claim claim) {
        return holders > 0 && (limit() != claim.limit() || claim.permits() > claim.limit() - granted);
    }

    /** Whether the node at this index is of another kind than the lock. */
    public boolean isOfAnotherKind(int index) {
        return nodes.get(index).limit() != limit();
    }
}
