package dev.holdfast.testkit.model;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Renewed.Reason;
import dev.holdfast.testkit.RecordingListener;
import org.jspecify.annotations.Nullable;

/** Two listeners of one claim: that of the store under test, and that of the model. */
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

    boolean haveHeard() {
        return ours.hasHeard() && theirs.hasHeard();
    }

    /** Whether the store has told an outcome, if the model has. */
    boolean isComparable() {
        return ours.outcome().isPresent() || theirs.outcome().isEmpty();
    }

    /** Whether the outcome was told, so that nothing more may come. */
    boolean isOver() {
        return ours.outcome().isPresent();
    }

    boolean toldGrant() {
        return theirs.first(RecordingListener.Event.Granted.class).isPresent();
    }

    /**
     * Checks that both were told the same outcome, or none.
     *
     * @param isGone whether the claim neither holds nor waits any more
     */
    void compare(Claim claim, boolean isGone) {
        ours.checkContract();
        String found = fate(ours);
        // A store may tell the end of a ticket when it sees it; the model tells it only to those who ask.
        boolean toldSooner = theirs.outcome().isEmpty() && found.equals("its time was over");
        // Released while the word of its grant was on its way: one outcome is told, and either is true.
        boolean overtaken = isGone && found.equals("released") && fate(theirs).equals("granted");
        if (!toldSooner && !overtaken && !found.equals(fate(theirs))) {
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
