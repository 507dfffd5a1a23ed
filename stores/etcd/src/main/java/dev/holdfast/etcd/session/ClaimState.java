package dev.holdfast.etcd.session;

import com.google.protobuf.ByteString;
import dev.holdfast.etcd.queue.AdmissionQueue;
import dev.holdfast.etcd.queue.LockKeys;
import dev.holdfast.etcd.rpc.EtcdClient;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimListener;
import org.jspecify.annotations.Nullable;

/** What this client knows of one claim of its own. Guarded by the mutex of {@link ClaimTable}. */
public final class ClaimState {

    public enum State {
        /** Its first request is under way. */
        SENT,
        WAITING,
        HELD,
        /** Its request was lost: it may have a key, and may be asked for again. */
        UNKNOWN
    }

    public final ByteString queue;
    /** Empty until the claim is sent. */
    public ByteString key = ByteString.EMPTY;

    /** Which of the keys of the name, and the lease, is its own; no other place of the name has it. */
    int slot;

    /** With the permits that the key has. */
    public Claim claim;

    public State state = State.SENT;

    @Nullable
    public ClaimListener listener;

    /** The create revision of its key; 0 if not known. */
    public long created;

    /** The lease that its key lives by; 0 if not known. */
    public long session;

    /** When its key was made, by the wall clock, in microseconds. */
    public long since;

    /** When this client takes the key away, unless it is renewed. */
    public long deadline;

    /** The sending of the last request that was answered "still waiting". */
    public long waitsSince;

    /** The queue as it was last seen; while it waits. */
    @Nullable
    public AdmissionQueue seen;

    public AdmissionQueue.@Nullable Blocker blocker;

    /** Which of its watches on a blocker is the present one. */
    public int watched;

    public EtcdClient.@Nullable Watch blockerWatch;

    public EtcdClient.@Nullable Watch ownWatch;

    /** Whether the queue is being read for it, */
    public boolean looking;

    /** whether something has happened meanwhile, */
    public boolean lookAgain;

    /** and when to try again if that failed. */
    public long lookAt = Long.MAX_VALUE;

    public int looksFailed;

    ClaimState(LockKeys keys, Claim claim, @Nullable ClaimListener listener) {
        this.queue = keys.queue(claim.name());
        this.claim = claim;
        this.listener = listener;
    }
}
