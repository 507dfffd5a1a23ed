package dev.holdfast.spring.locked;

import dev.holdfast.Lease;
import dev.holdfast.LockLostException;
import org.jspecify.annotations.Nullable;

/** The lock of one call, while it is held. */
interface HeldLock {

    /** The lease; null if the thread holds the lock itself. */
    @Nullable
    Lease lease();

    /** Why it was lost; null if it is held. The store is not asked. */
    @Nullable
    LockLostException loss();

    /** Whether another call of this thread runs under this lock without one of its own. */
    boolean covers(LockRequest request);

    /**
     * Gives it up.
     *
     * @throws LockLostException if it was lost
     */
    void release();

    /** The method that took it has ended, and a transaction keeps it: its thread is not interrupted for a loss any more, if that can be. */
    default void methodEnded() {}

    /** The same lock for a call inside: it is given up by the call that took it. */
    default HeldLock joined() {
        HeldLock outer = this;
        return new HeldLock() {
            @Override
            public @Nullable Lease lease() {
                return outer.lease();
            }

            @Override
            public @Nullable LockLostException loss() {
                return outer.loss();
            }

            @Override
            public boolean covers(LockRequest request) {
                return outer.covers(request);
            }

            @Override
            public void release() {
                LockLostException loss = outer.loss();
                if (loss != null) {
                    throw loss;
                }
            }

            @Override
            public HeldLock joined() {
                return outer.joined();
            }
        };
    }
}
