package dev.holdfast;

/** The lock was lost while it was held; what was done since may have overlapped with another holder's work. */
public final class LockLostException extends LockException {

    private static final long serialVersionUID = 1L;

    private final LossReason reason;

    public LockLostException(String message, LossReason reason) {
        super(message);
        this.reason = reason;
    }

    /** Why it was lost. */
    public LossReason reason() {
        return reason;
    }
}
