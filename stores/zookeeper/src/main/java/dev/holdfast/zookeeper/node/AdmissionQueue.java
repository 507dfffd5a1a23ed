package dev.holdfast.zookeeper.node;

import dev.holdfast.spi.ClaimId;
import dev.holdfast.store.sequenced.SequencedQueue;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The nodes of a lock in their order, and who else uses their parent node. The names of the nodes alone decide which of them
 * hold. Immutable.
 */
public final class AdmissionQueue extends SequencedQueue<NodeName> {

    // Compares by difference and not by value, because the server's sequence overflows from the largest int to the
    // smallest.
    private static final Comparator<NodeName> ORDER = ((Comparator<NodeName>)
                    (a, b) -> Integer.compare(a.sequence() - b.sequence(), 0))
            .thenComparing(node -> !node.isExclusive())
            .thenComparing(NodeName::text);

    /** The queue of a parent node without children. */
    public static final AdmissionQueue EMPTY = new AdmissionQueue(List.of(), null, -1);

    private final @Nullable String otherUse;
    /** Where the node is for which the queue was read; -1 for none. */
    private final int known;

    private AdmissionQueue(List<NodeName> nodes, @Nullable String otherUse, int known) {
        super(nodes);
        this.otherUse = otherUse;
        this.known = known;
    }

    // Of a mutex, which its first node holds.
    private AdmissionQueue(NodesBefore nodes) {
        super(nodes, 1, 1, 1);
        this.otherUse = null;
        this.known = nodes.count();
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
        return new AdmissionQueue(nodes, otherUse, -1);
    }

    /**
     * The same for a client that knows one of the nodes, and asks what is before it. Most locks are free, so this node
     * is mostly the only one, and then nothing is parsed; nor are most of those before it in the queue of a mutex.
     */
    public static AdmissionQueue of(List<String> children, @Nullable NodeName known) {
        if (known != null && children.size() == 1 && children.get(0).equals(known.text())) {
            return ofOne(known);
        }
        NodesBefore nodes = known == null || known.limit() != 1 ? null : NodesBefore.of(children, known);
        return nodes == null ? of(children) : new AdmissionQueue(nodes);
    }

    /** The queue of a parent node whose only child is known. */
    public static AdmissionQueue ofOne(NodeName only) {
        return new AdmissionQueue(List.of(only), null, 0);
    }

    /** The same queue, with one node replaced by another. */
    public AdmissionQueue with(NodeName old, NodeName replacement) {
        List<NodeName> changed = new ArrayList<>(entries());
        changed.replaceAll(node -> node.equals(old) ? replacement : node);
        return new AdmissionQueue(changed, otherUse, -1);
    }

    /** Who else uses the parent node, in another way; null if nobody is known to do so. */
    public @Nullable String otherUse() {
        return otherUse;
    }

    /** The nodes that hold, and so many of those that wait. */
    public List<NodeName> first(int waiters) {
        List<NodeName> nodes = entries();
        return waiters < nodes.size() - admitted() ? nodes.subList(0, admitted() + waiters) : nodes;
    }

    /** The nodes of a claim: at most one, unless its create was sent twice and both requests arrived. */
    public List<NodeName> of(ClaimId id) {
        return entries().stream().filter(node -> node.id().equals(id)).toList();
    }

    /**
     * The index of a node, which is the number of nodes before it; -1 if it is not in the queue. The node may have been
     * replaced by one of the same claim with other permits, which has the same sequence.
     */
    public int indexOf(NodeName node) {
        if (known >= 0 && get(known).isOfSameClaim(node)) {
            return known;
        }
        int low = 0;
        int high = entries().size() - 1;
        while (low <= high) {
            int middle = (low + high) >>> 1;
            int difference = get(middle).sequence() - node.sequence();
            if (difference == 0) {
                return get(middle).isOfSameClaim(node) ? middle : -1;
            }
            low = difference < 0 ? middle + 1 : low;
            high = difference < 0 ? high : middle - 1;
        }
        return -1;
    }

    /** Whether no node is behind the node at this index. */
    public boolean isLast(int index) {
        return index == entries().size() - 1;
    }
}
