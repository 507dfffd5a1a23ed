package dev.holdfast.etcd.session;

import com.google.protobuf.ByteString;
import dev.holdfast.etcd.queue.AdmissionQueue;
import dev.holdfast.etcd.queue.LockKeys;
import dev.holdfast.etcd.rpc.EtcdClient;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Renewed;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** What this client knows about one of its claims. Guarded by the mutex of {@link ClaimTable}. */
public final class ClaimState {

    public enum Phase {
        /** Its first request is under way. */
        SENT,
        WAITING,
        HELD,
        /** It held, and its key is gone; why is being found out. */
        LOST,
        /** The effect of its request is not known: the claim may have a key, and may be requested again. */
        UNKNOWN
    }

    public final ByteString queue;
    public final ByteString tombstone;
    /** Empty until the claim is sent. */
    public ByteString key = ByteString.EMPTY;

    /** Which of the keys of the name and the lease this claim uses; no other claim of the name uses the same. */
    int slot;

    /** The claim, with the permits that its key has. */
    public Claim claim;

    public Phase phase = Phase.SENT;

    @Nullable
    public ClaimListener listener;

    /** The create revision of its key; 0 if not known. */
    public long created;

    /**
     * The revision at which its key had the permits of {@link #claim}. Its value is written again only if it was not
     * written since: a request that is executed late must not bring back permits that were given up meanwhile.
     */
    public long modified;

    /** The lease that its key is attached to; 0 if not known. */
    public long session;

    /** When its key was created, by the wall clock, in microseconds. */
    public long since;

    /** When this client deletes the key, unless the claim is renewed. */
    public long deadline;

    /** When the last request was sent that was answered "still waiting". */
    public long waitsSince;

    /** The queue as it was last seen, while the claim waits. */
    @Nullable
    public AdmissionQueue seen;

    public AdmissionQueue.@Nullable Blocker blocker;

    /** The number of its current watch on a blocker. Events of earlier watches are ignored. */
    public int watchNumber;

    public EtcdClient.@Nullable Watch blockerWatch;

    public EtcdClient.@Nullable Watch ownWatch;

    /** The number of the start of the watch that runs on the own key of a waiter; 0 while none runs. */
    public int ownStart;

    /** How many watches on its own key have started so far. */
    public int ownStarts;

    /** Whether that watch has missed nothing, so that a waiter which has not learned of the end of its key has its key. */
    public boolean ownIsSure;

    /** Whether the watch on its blocker has not started yet. */
    public boolean blockerIsStarting;

    /** Whether its two keys must be looked at when that watch has started: the one on its own key has missed something. */
    public boolean lookIsDue;

    /** Whether this client has sent a release of the claim: the end of its key is then no loss. */
    public boolean releasing;

    /** Why it was lost, as soon as that is known; null unless it was lost. May be read without the mutex. */
    public volatile @Nullable CompletableFuture<Renewed.Reason> loss;

    /** Whether the queue is being read for this claim. */
    public boolean reading;

    /** Whether another read was requested while the queue was being read. */
    public boolean readAgain;

    /** When to read the queue again after a failed read or a closed watch; {@code Long.MAX_VALUE} if not due. */
    public long readAt = Long.MAX_VALUE;

    /** How many reads failed, or watches were closed, since a watch was last started. */
    public int failures;

    ClaimState(LockKeys keys, Claim claim, @Nullable ClaimListener listener) {
        this.queue = keys.queue(claim.name());
        this.tombstone = keys.tombstone(claim.name(), claim.id());
        this.claim = claim;
        this.listener = listener;
    }
}
