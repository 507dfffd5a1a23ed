package dev.holdfast;

/** The lock was lost while it was held; the work done since then may have overlapped with another holder's work. */
public final class LockLostException extends LockException {

    private static final long serialVersionUID = 1L;

    private final LossReason reason;

    public LockLostException(String message, LossReason reason) {
        super(message);
        this.reason = reason;
    }

    /** Why the lock was lost. */
    public LossReason reason() {
        return reason;
    }
}
