package dev.holdfast.zookeeper.node;

import java.util.AbstractList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The nodes of a mutex in their order, for the client of one of them. It asks how many are before its own, and which
 * is the last of these. That takes one look at each name, while parsing and sorting all of them would be most of the
 * client's work in a long queue, which it reads twice for each grant. Who asks for another node has that done, each
 * time. Immutable.
 */
final class NodesBefore extends AbstractList<NodeName> {

    private final List<String> children;
    private final NodeName own;
    private final @Nullable NodeName last;
    private final int count;

    private NodesBefore(List<String> children, NodeName own, @Nullable String last, int count) {
        this.children = children;
        this.own = own;
        this.last = last == null ? null : NodeName.parse(last);
        this.count = count;
    }

    /**
     * Null if the own node is not among the children, or one of them is not surely that of a mutex, or two have the
     * same sequence, as no server gives it.
     */
    static @Nullable NodesBefore of(List<String> children, NodeName own) {
        String last = null;
        int lastSequence = -1;
        int count = 0;
        boolean isThere = false;
        for (String child : children) {
            int sequence = NodeName.sequenceOfMutex(child);
            boolean isOwn = sequence == own.sequence();
            if (sequence < 0 || sequence == lastSequence || (isOwn && !child.equals(own.text()))) {
                return null;
            }
            isThere |= isOwn;
            if (sequence < own.sequence()) {
                count++;
                last = sequence > lastSequence ? child : last;
                lastSequence = Math.max(sequence, lastSequence);
            }
        }
        return isThere ? new NodesBefore(children, own, last, count) : null;
    }

    /** How many are before the own one. */
    int count() {
        return count;
    }

    @Override
    public NodeName get(int index) {
        if (index == count) {
            return own;
        }
        return last != null && index == count - 1
                ? last
                : AdmissionQueue.of(children).get(index);
    }

    @Override
    public int size() {
        return children.size();
    }
}
