package dev.holdfast.spi;

import java.time.Duration;

/**
 * Is notified of the outcome of a claim that was enqueued: exactly one of {@link #granted}, {@link #ended} and
 * {@link #failed} is called, possibly before {@code enqueue} returns. The methods are called on any thread, while
 * the store holds none of its own locks. They must not block and must not throw.
 *
 * <p>After {@link ListenerRegistration#close()} the listener is not called any more.
 */
public interface ClaimListener {

    /**
     * The claim has entered the queue. Called at most once; a grant that follows immediately may be reported before
     * it.
     *
     * @param position how many claims wait before this one, counted as {@link Renewed.Waiting} does
     * @param retryAfter the time until the first of the present grants ends if it is not renewed; zero if not known
     */
    void waiting(int position, Duration retryAfter);

    /** The claim is granted. */
    void granted(Granted granted);

    /** The claim neither holds nor waits any more: it was released by somebody else, or its ticket expired. */
    void ended(Renewed.Reason reason);

    /** The request to enqueue failed; {@link StoreException#effect()} says whether it may have had an effect. */
    void failed(StoreException cause);
}
