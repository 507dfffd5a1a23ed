package dev.holdfast;

/** The time limit of a wait was over before the lock was free. Nothing is held and nothing stays in the queue. */
public final class LockTimeoutException extends LockException {

    private static final long serialVersionUID = 1L;

    public LockTimeoutException(String message) {
        super(message);
    }
}
