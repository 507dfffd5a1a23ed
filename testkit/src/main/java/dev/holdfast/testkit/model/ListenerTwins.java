package dev.holdfast.testkit.model;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Renewed.Reason;
import dev.holdfast.testkit.RecordingListener;
import org.jspecify.annotations.Nullable;

/** Two listeners of one claim: one at the store under test, and one at the model. */
final class ListenerTwins {

    private static final RecordingListener.Event RELEASED = new RecordingListener.Event.Ended(Reason.RELEASED);

    private final RecordingListener ours = new RecordingListener();
    private final RecordingListener theirs = new RecordingListener();

    RecordingListener ours() {
        return ours;
    }

    RecordingListener theirs() {
        return theirs;
    }

    boolean areNotified() {
        return ours.wasNotified() && theirs.wasNotified();
    }

    /** Whether the store has reported an outcome, or the model has not. */
    boolean isComparable() {
        return ours.outcome().isPresent() || theirs.outcome().isEmpty();
    }

    /** Whether the store has reported the outcome, so that no other notification may follow. */
    boolean isOver() {
        return ours.outcome().isPresent();
    }

    boolean wasGranted() {
        return theirs.first(RecordingListener.Event.Granted.class).isPresent();
    }

    /**
     * Checks that both listeners were notified of the same outcome, or of none.
     *
     * @param isGone whether the claim neither holds nor waits any more
     */
    void compare(Claim claim, boolean isGone) {
        ours.checkContract();
        String found = fate(ours);
        // A store may report the end of a ticket when it notices it; the model reports it only when the claim is
        // renewed.
        boolean reportedSooner = theirs.outcome().isEmpty() && found.equals("its time was over");
        // The claim was released while the notification of its grant was on its way: one outcome is reported, and
        // both are correct.
        boolean overtaken = isGone && found.equals("released") && fate(theirs).equals("granted");
        if (!reportedSooner && !overtaken && !found.equals(fate(theirs))) {
            throw new Difference("Listeners of " + TwinStores.shown(claim) + " differ: " + this);
        }
    }

    private static String fate(RecordingListener listener) {
        RecordingListener.@Nullable Event outcome = listener.outcome().orElse(null);
        if (outcome == null) {
            return "nothing yet";
        } else if (outcome instanceof RecordingListener.Event.Granted) {
            return "granted";
        } else if (outcome instanceof RecordingListener.Event.Ended) {
            return outcome.equals(RELEASED) ? "released" : "its time was over";
        }
        return "failed";
    }

    @Override
    public String toString() {
        return "store " + ours + ", model " + theirs;
    }
}
