package dev.holdfast.spi;

import java.time.Duration;

/**
 * Hears what becomes of a claim that was enqueued: exactly one of {@link #granted}, {@link #ended} and {@link #failed},
 * perhaps before {@code enqueue} returns. The methods are called on any thread, by a store that holds no lock of its own
 * at that moment; they must not block and must not throw.
 *
 * <p>After {@link ListenerRegistration#close()} nothing more is told.
 */
public interface ClaimListener {

    /**
     * The claim has taken a place in the queue. Told at most once; a grant that comes at once may overtake it.
     *
     * @param position how many claims wait before this one
     * @param retryAfter when the first of the present grants ends unless it is renewed; zero if not known
     */
    void waiting(int position, Duration retryAfter);

    /**
     * The claim holds.
     *
     * @param counter the grant's number
     * @param lease how long the grant lives, counted by the store from when it granted
     */
    void granted(long counter, Duration lease);

    /** The claim neither holds nor waits: somebody else released it, or its ticket ran out. */
    void ended(Renewed.Reason reason);

    /** The request to enqueue failed; {@link StoreException#effect()} says whether it may have had an effect. */
    void failed(StoreException cause);
}
