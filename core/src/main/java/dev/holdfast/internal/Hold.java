package dev.holdfast.internal;

import dev.holdfast.LeaseState;
import dev.holdfast.LockLostException;
import dev.holdfast.LossReason;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One acquisition by a user: a share of a grant, with a token, a listener list and an end of its own.
 *
 * <p>States: held, then lost or released; both are final. A lost hold is still known to its owner until he gives it up.
 * Transitions happen under the resource's mutex; {@link #state} may be read by anyone.
 */
final class Hold {

    private final Grant grant;
    private final Request request;
    private final long token;
    private final long since;
    /** The thread that acquired, to be interrupted on loss; null for an acquisition without a thread. */
    private final @Nullable Thread thread;

    private volatile long holdEnds;
    private volatile @Nullable LossReason lost;
    private volatile boolean released;
    /** Guarded by the resource's mutex. */
    private final List<Consumer<LossReason>> listeners = new ArrayList<>(0);

    Hold(Grant grant, Request request, long token, long now, @Nullable Thread thread) {
        this.grant = grant;
        this.request = request;
        this.token = token;
        this.since = now;
        this.thread = thread;
        this.holdEnds = Times.after(now, request.maxHold());
        if (request.onLost() != null) {
            listeners.add(request.onLost());
        }
    }

    Grant grant() {
        return grant;
    }

    Resource resource() {
        return grant.resource();
    }

    Request request() {
        return request;
    }

    long token() {
        return token;
    }

    long since() {
        return since;
    }

    /** When {@code maxHold} is over. */
    long holdEnds() {
        return holdEnds;
    }

    /** Begins {@code maxHold} now: when a multi-lock has all its members. */
    void limitFrom(long now, long maxHold) {
        holdEnds = Times.after(now, maxHold);
    }

    /** What can be known without asking the store. */
    LeaseState state(long now) {
        if (lost != null) {
            return LeaseState.LOST;
        }
        if (released) {
            return LeaseState.RELEASED;
        }
        if (now >= deadline()) {
            return LeaseState.LOST;
        }
        return grant.isInDoubt(now) ? LeaseState.IN_DOUBT : LeaseState.SAFE;
    }

    boolean isHeld(long now) {
        return !released && lost == null && now < deadline();
    }

    /** From when on the hold must be taken for lost. */
    long deadline() {
        return Math.min(grant.validity().deadline(), holdEnds);
    }

    @Nullable
    LossReason lossReason() {
        return lost;
    }

    /** Whether it was neither lost nor released. */
    boolean isOpen() {
        return !released && lost == null;
    }

    boolean isReleased() {
        return released;
    }

    /** Under the mutex. Returns false if it was released before. */
    boolean markReleased() {
        boolean first = !released;
        released = true;
        return first;
    }

    /** The store said at the release that the hold had ended before. */
    void markBroken() {
        lost = LossReason.BROKEN;
    }

    /** Under the mutex. Returns who must be told, unless the hold is over already. */
    List<Consumer<LossReason>> markLost(LossReason reason) {
        if (released || lost != null) {
            return List.of();
        }
        lost = reason;
        List<Consumer<LossReason>> told = List.copyOf(listeners);
        listeners.clear();
        return told;
    }

    /** Under the mutex. Returns the reason if the hold is lost already, so that the caller tells the listener itself. */
    @Nullable
    LossReason listen(Consumer<LossReason> listener) {
        if (lost == null && !released) {
            listeners.add(listener);
        }
        return released ? null : lost;
    }

    /** Under the mutex, so that a thread that has released is never hit. */
    void interruptOwner() {
        if (thread != null && request.interruptOnLoss() && !released) {
            thread.interrupt();
        }
    }

    boolean wantsInterrupt() {
        return thread != null && request.interruptOnLoss();
    }

    LockLostException lostException(Engine engine) {
        LossReason reason = lost == null ? LossReason.EXPIRED : lost;
        String why = switch (reason) {
            case EXPIRED ->
                "its time was over before it was renewed or released: give it a longer lease or renewal, or do"
                        + " less while holding it";
            case TAKEN -> "another client holds it now";
            case BROKEN -> "it was released by somebody else, or the store lost its data";
            case STORE_UNREACHABLE -> "the store could not be reached to renew it";
            case CLOSED -> "its Holdfast was closed";
        };
        return new LockLostException(
                "Lock \"" + request.name() + "\" was lost (" + reason + ") while client " + engine.clientId()
                        + " held it with token " + token + ": " + why + ". What was done since may have overlapped with"
                        + " another holder",
                reason);
    }
}
