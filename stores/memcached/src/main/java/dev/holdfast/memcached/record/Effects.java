package dev.holdfast.memcached.record;

import dev.holdfast.spi.StoreException.Effect;

/**
 * Which effect an operation may have had, at any moment. An operation whose time is over sends no write any more, so
 * that what was said about its effect stays true. Thread-safe.
 */
final class Effects {

    private boolean writing;
    private boolean over;

    /** Notes that a write is about to be sent. Returns false if none may be, because the operation is over. */
    synchronized boolean beginWrite() {
        if (over) {
            return false;
        }
        writing = true;
        return true;
    }

    /** Notes that the server has answered that it did not write. */
    synchronized void refused() {
        writing = false;
    }

    /** Ends the operation, and returns the effect that it may have had. */
    synchronized Effect end() {
        over = true;
        return writing ? Effect.UNKNOWN : Effect.NONE;
    }
}
