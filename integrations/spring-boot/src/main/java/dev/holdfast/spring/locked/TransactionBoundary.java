package dev.holdfast.spring.locked;

/** What a lock must know of the transaction in which it is taken. */
public interface TransactionBoundary {

    /** An application without transactions. */
    TransactionBoundary NONE = new TransactionBoundary() {
        @Override
        public boolean isOpen() {
            return false;
        }

        @Override
        public boolean holdUntilEnd(Runnable check, Runnable release) {
            return false;
        }
    };

    /** Whether a transaction is open on this thread. */
    boolean isOpen();

    /**
     * Holds a lock until the end of the transaction that is open on this thread.
     *
     * @param check is run before the commit, and prevents it if it throws
     * @param release is run when the transaction has ended
     * @return whether there is a transaction; else nothing is run
     */
    boolean holdUntilEnd(Runnable check, Runnable release);
}
