package dev.holdfast.store.sequenced;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.StoreException;
import java.util.List;

/**
 * The entries of one name in the order of their creation, and which of them hold. That is a pure function of the entries, the
 * same for every client that reads them, so the holders need not be stored anywhere.
 *
 * <p>An entry is admitted if all entries before it are, if it is of their kind, and if the permits of all of them fit its
 * limit. So the holders are the first entries of the queue. Later entries change nothing for earlier ones, and earlier ones
 * only leave or give up permits: <em>an entry that was admitted once stays admitted</em>. Hence a queue that was read some time
 * ago is wrong in one direction only. It may show an entry as waiting that holds by now, never the other way round.
 *
 * <p>The kind of the lock is that of the first entry. An entry of another kind does not hold, and blocks the entries behind
 * it, until its own client sees the conflict and removes it.
 *
 * <p>The model {@code SequencedQueue.tla}, beside the tests of the testkit, shows that clients which follow these rules have
 * one exclusive holder at most. Immutable.
 *
 * @param <E> the entries as a store has them
 */
public abstract class SequencedQueue<E extends SequencedEntry> {

    /** {@link #blocker}: nothing, because the entry is never admitted. */
    public static final int NOTHING = -1;

    /** {@link #blocker}: all that hold, of which any may leave first. */
    public static final int ALL_HOLDERS = -2;

    private final List<E> entries;
    private final int limit;
    private final int admitted;
    private final long granted;

    /** @param entries in the order of their creation; not changed afterwards */
    protected SequencedQueue(List<E> entries) {
        this.entries = entries;
        this.limit = entries.isEmpty() ? 0 : entries.get(0).limit();
        int fits = 0;
        long sum = 0;
        for (E entry : entries) {
            if (entry.limit() != limit || sum + entry.permits() > entry.limit()) {
                break;
            }
            sum += entry.permits();
            fits++;
        }
        this.admitted = fits;
        this.granted = sum;
    }

    /**
     * A queue of which is known what the other constructor finds out.
     *
     * @param limit that of the first entry
     * @param admitted how many of the entries hold
     * @param granted the permits of these
     */
    protected SequencedQueue(List<E> entries, int limit, int admitted, long granted) {
        this.entries = entries;
        this.limit = limit;
        this.admitted = admitted;
        this.granted = granted;
    }

    /** The oldest first. */
    public final List<E> entries() {
        return entries;
    }

    /**
     * One of them.
     *
     * @throws IndexOutOfBoundsException if there are not so many
     */
    public final E get(int index) {
        return entries.get(index);
    }

    /** How many of them hold. */
    public final int admitted() {
        return admitted;
    }

    /** Whether the entry at this index holds. */
    public final boolean isAdmitted(int index) {
        return index < admitted;
    }

    /** How many entries wait before the one at {@code index}. */
    public final int position(int index) {
        return index - admitted;
    }

    /** The limit of the lock, which is its kind; 0 if there are no entries. */
    public final int limit() {
        return limit;
    }

    /** Whether the entry at this index is of another kind than the lock. */
    public final boolean isOfAnotherKind(int index) {
        return entries.get(index).limit() != limit;
    }

    /** Whether the holders leave too few permits for a claim that is not in the queue. */
    public final boolean isTaken(Claim claim) {
        return admitted > 0 && (limit != claim.limit() || claim.permits() > claim.limit() - granted);
    }

    /** Whether a claim that is not in the queue would be admitted as its last entry. */
    public final boolean admits(Claim claim) {
        return admitted == entries.size() && !isTaken(claim) && !claim.isWaitSet();
    }

    /** Whether as many wait before the entry at {@code index} as may wait. */
    public final boolean isFull(int index) {
        return position(index) >= LockStore.MAX_QUEUE;
    }

    /** The failure of a claim that has joined a full queue. */
    public static StoreException full(LockName name) {
        return StoreException.refused(
                "\"" + name + "\" has " + LockStore.MAX_QUEUE + " waiters already, which is the most", null);
    }

    /**
     * What the waiting entry at {@code index} must watch: the index of another entry, {@link #ALL_HOLDERS}, or
     * {@link #NOTHING} in a wait set. It is chosen such that a release wakes those claims that get what it frees, and one
     * more.
     *
     * <p>An exclusive entry watches the one directly before it, which must leave first. Another one watches the last entry
     * before it that excludes it, if it will be admitted together with all that wait between the two: readers behind a writer.
     * Otherwise permits are short. Then the first waiter watches all holders, and every other one the waiter before it, whose
     * client says in its entry when it is admitted.
     */
    public final int blocker(int index) {
        E own = entries.get(index);
        if (own.limit() == 0) {
            return NOTHING;
        }
        if (own.isExclusive()) {
            return index - 1;
        }
        long together = own.permits();
        for (int i = index - 1; i >= 0; i--) {
            E before = entries.get(i);
            if (before.isExclusive() || before.limit() != own.limit()) {
                return i;
            }
            together += before.permits();
            if (together > own.limit()) {
                break;
            }
        }
        return index == admitted && index > 1 ? ALL_HOLDERS : index - 1;
    }
}
