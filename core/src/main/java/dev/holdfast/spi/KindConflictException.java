package dev.holdfast.spi;

/**
 * The name is in use as another kind: its live grants or waiters have another limit than the claim. The request had
 * no effect.
 */
public final class KindConflictException extends StoreException {

    private static final long serialVersionUID = 1L;

    /**
     * @param name the resource
     * @param wanted the claim's limit
     * @param inUse the limit of the live grants or waiters
     */
    public KindConflictException(LockName name, int wanted, int inUse) {
        super("\"" + name + "\" is in use as " + kind(inUse) + " and was now claimed as " + kind(wanted)
                + ": use another name, or wait until it is free");
    }

    private static String kind(int limit) {
        return switch (limit) {
            case 0 -> "a wait set";
            case 1 -> "a mutex";
            case Claim.ALL -> "a read-write lock";
            default -> "a semaphore of " + limit;
        };
    }
}
