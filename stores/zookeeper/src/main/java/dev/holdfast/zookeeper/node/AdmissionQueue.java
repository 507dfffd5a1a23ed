package dev.holdfast.zookeeper.node;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The nodes of a lock in their order, and which of them hold: counted from the first, as many as fit within the
 * limit. This one rule decides both admission and the order of the queue. Each client that lists the nodes gets the
 * same answer, so the holders need not be stored anywhere.
 *
 * <p>The kind of the lock is that of the first node. A node of another kind behind it does not hold, and blocks the
 * nodes behind itself; its owner deletes it as soon as it sees the conflict.
 *
 * <p>Immutable.
 */
public final class AdmissionQueue {

    // Compares by difference and not by value, because the server's sequence overflows from the largest int to the
    // smallest.
    private static final Comparator<NodeName> ORDER = ((Comparator<NodeName>)
                    (a, b) -> Integer.compare(a.sequence() - b.sequence(), 0))
            .thenComparing(node -> !node.isWrite())
            .thenComparing(NodeName::text);

    /** The queue of a parent node without children. */
    public static final AdmissionQueue EMPTY = new AdmissionQueue(List.of(), null);

    private final List<NodeName> nodes;
    private final @Nullable String otherUse;
    private final int holders;
    private final long granted;

    private AdmissionQueue(List<NodeName> nodes, @Nullable String otherUse) {
        this.nodes = nodes;
        this.otherUse = otherUse;
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
     * The queue of the children of a parent node.
     *
     * @param children the names of the children; those that are not the names of claims do not count
     */
    public static AdmissionQueue of(List<String> children) {
        List<NodeName> nodes = new ArrayList<>(children.size());
        String otherUse = null;
        for (String child : children) {
            NodeName node = NodeName.parse(child);
            if (node != null) {
                nodes.add(node);
            } else {
                String recipe = OtherRecipe.of(child);
                otherUse = recipe == null ? otherUse : recipe + " (node \"" + child + "\")";
            }
        }
        nodes.sort(ORDER);
        return new AdmissionQueue(nodes, otherUse);
    }

    /** The same queue, with one node replaced by another. */
    public AdmissionQueue with(NodeName old, NodeName replacement) {
        List<NodeName> changed = new ArrayList<>(nodes);
        changed.replaceAll(node -> node.equals(old) ? replacement : node);
        return new AdmissionQueue(changed, otherUse);
    }

    /** The limit of the lock, which is its kind; 0 if there are no nodes. */
    public int limit() {
        return nodes.isEmpty() ? 0 : nodes.get(0).limit();
    }

    /** Who else uses the parent node, in another way; null if nobody is known to do so. */
    public @Nullable String otherUse() {
        return otherUse;
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

    /** The nodes that hold, and so many of those that wait. */
    public List<NodeName> first(int waiters) {
        return waiters < nodes.size() - holders ? nodes.subList(0, holders + waiters) : nodes;
    }

    /** The nodes of a claim: at most one, unless its create was sent twice and both requests arrived. */
    public List<NodeName> of(ClaimId id) {
        return nodes.stream().filter(node -> node.id().equals(id)).toList();
    }

    /**
     * The index of a node, which is the number of nodes before it; -1 if it is not in the queue. The node may have been
     * replaced by one of the same claim with other permits, which has the same sequence.
     */
    public int indexOf(NodeName node) {
        int low = 0;
        int high = nodes.size() - 1;
        while (low <= high) {
            int middle = (low + high) >>> 1;
            int difference = nodes.get(middle).sequence() - node.sequence();
            if (difference == 0) {
                return nodes.get(middle).isOfSameClaim(node) ? middle : -1;
            }
            low = difference < 0 ? middle + 1 : low;
            high = difference < 0 ? high : middle - 1;
        }
        return -1;
    }

    public boolean isHolder(int index) {
        return index < holders;
    }

    /** How many nodes wait before the node at this index. */
    public int position(int index) {
        return index - holders;
    }

    /** Whether no node is behind the node at this index. */
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

    /** Whether the holders leave too few permits for a claim that is not in the queue. */
    public boolean isTaken(Claim claim) {
        return holders > 0 && (limit() != claim.limit() || claim.permits() > claim.limit() - granted);
    }

    /** Whether the node at this index is of another kind than the lock. */
    public boolean isOfAnotherKind(int index) {
        return nodes.get(index).limit() != limit();
    }
}
