package dev.holdfast.etcd;

import com.google.protobuf.ByteString;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimListener;
import org.jspecify.annotations.Nullable;

/** What this client knows of one claim of its own. Guarded by the mutex of {@link Places}. */
final class Place {

    enum State {
        /** Its first request is under way. */
        SENT,
        WAITING,
        HELD,
        /** Its request was lost: it may have a key, and may be asked for again. */
        UNKNOWN
    }

    final ByteString queue;
    /** Empty until the claim is sent. */
    ByteString key = ByteString.EMPTY;

    /** Which of the keys of the name, and the lease, is its own; no other place of the name has it. */
    int slot;

    /** With the permits that the key has. */
    Claim claim;

    State state = State.SENT;

    @Nullable
    ClaimListener listener;

    /** The create revision of its key; 0 if not known. */
    long created;

    /** The lease that its key lives by; 0 if not known. */
    long session;

    /** When its key was made, by the wall clock, in microseconds. */
    long since;

    /** When this client takes the key away, unless it is renewed. */
    long deadline;

    /** The sending of the last request that was answered "still waiting". */
    long waitsSince;

    /** The queue as it was last seen; while it waits. */
    @Nullable
    Queue seen;

    Queue.@Nullable Blocker blocker;

    /** Which of its watches on a blocker is the present one. */
    int watched;

    EtcdPort.@Nullable Watch blockerWatch;

    EtcdPort.@Nullable Watch ownWatch;

    /** Whether the queue is being read for it, */
    boolean looking;

    /** whether something has happened meanwhile, */
    boolean lookAgain;

    /** and when to try again if that failed. */
    long lookAt = Long.MAX_VALUE;

    int looksFailed;

    Place(LockKeys keys, Claim claim, @Nullable ClaimListener listener) {
        this.queue = keys.queue(claim.name());
        this.claim = claim;
        this.listener = listener;
    }
}
