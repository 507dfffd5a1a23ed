package dev.holdfast.election;

import dev.holdfast.LockOptions;
import dev.holdfast.spi.Claim;
import java.time.Duration;
import java.util.Objects;
import java.util.function.BooleanSupplier;

/**
 * How a candidate takes part in an election. Immutable: each {@code with} method returns a changed copy.
 *
 * @param id by which people know the candidate; empty for the id of its client. Without white space, at most {@value #MAX_ID}
 *     characters
 * @param payload what the candidate proclaims from the start, such as its address; at most {@value #MAX_PAYLOAD} characters, none of
 *     them a control character
 * @param lease how long a leader that has died, or has lost the store, stays elected; 100 ms to 24 h, 15 s by default
 * @param storeTimeout how long the store may be out of reach before a candidate reports it; 1 ms to 24 h, 10 s by default
 * @param observeEvery how often an observer looks for another leader; 10 ms to 24 h, 1 s by default
 * @param ready whether the candidate may be elected; always by default
 */
public record ElectionOptions(
        String id,
        String payload,
        Duration lease,
        Duration storeTimeout,
        Duration observeEvery,
        BooleanSupplier ready) {

    /** The most characters of an id. */
    public static final int MAX_ID = 63;

    /** The most characters of a payload. Id and payload fit into the label of {@link dev.holdfast.spi.OwnerInfo}. */
    public static final int MAX_PAYLOAD = 64;

    private static final Duration LEAST_INTERVAL = Duration.ofMillis(10);

    private static final ElectionOptions DEFAULTS = new ElectionOptions(
            "", "", Duration.ofSeconds(15), LockOptions.defaults().storeTimeout(), Duration.ofSeconds(1), () -> true);

    /** @throws IllegalArgumentException if a text or a time is out of its bounds */
    public ElectionOptions {
        if (id.length() > MAX_ID || id.chars().anyMatch(c -> Character.isWhitespace(c) || Character.isISOControl(c))) {
            throw new IllegalArgumentException("The id of a candidate must have at most " + MAX_ID
                    + " characters and no white space, but was \"" + id + "\"");
        }
        checkPayload(payload);
        Objects.requireNonNull(ready, "ready");
        Claim.checkLease(lease);
        LockOptions.defaults().withStoreTimeout(storeTimeout);
        if (observeEvery.compareTo(LEAST_INTERVAL) < 0 || observeEvery.compareTo(Claim.MAX_LEASE) > 0) {
            throw new IllegalArgumentException("observeEvery must be 10 ms to 24 h, but was " + observeEvery);
        }
    }

    /** A lease of 15 s, the client's id, no payload, always ready. */
    public static ElectionOptions defaults() {
        return DEFAULTS;
    }

    /** By which people know the candidate, such as the name of its pod. */
    public ElectionOptions withId(String newId) {
        return new ElectionOptions(newId, payload, lease, storeTimeout, observeEvery, ready);
    }

    /** What the candidate proclaims from the start; {@link Election#proclaim} changes it. */
    public ElectionOptions withPayload(String newPayload) {
        return new ElectionOptions(id, newPayload, lease, storeTimeout, observeEvery, ready);
    }

    /** How long a leader that has died stays elected. A shorter lease costs more renewals: one for each third of it. */
    public ElectionOptions withLease(Duration newLease) {
        return new ElectionOptions(id, payload, newLease, storeTimeout, observeEvery, ready);
    }

    /** How long the store may be out of reach before {@link Election#onFailure} is called, and how long calls wait for it. */
    public ElectionOptions withStoreTimeout(Duration newStoreTimeout) {
        return new ElectionOptions(id, payload, lease, newStoreTimeout, observeEvery, ready);
    }

    /** How often an observer looks for another leader, with one request. */
    public ElectionOptions withObserveEvery(Duration newObserveEvery) {
        return new ElectionOptions(id, payload, lease, storeTimeout, newObserveEvery, ready);
    }

    /**
     * A gate: the candidate joins the election only while this is true, and gives an election back if it is not true at that
     * moment. While it is false it is asked once a second. It does not end a term: see {@link Election#resign}.
     *
     * @param newReady is called on the executor of the election's callbacks; if it throws, the candidate is not ready
     */
    public ElectionOptions withReady(BooleanSupplier newReady) {
        return new ElectionOptions(id, payload, lease, storeTimeout, observeEvery, newReady);
    }

    /**
     * Checks what a candidate wants to proclaim.
     *
     * @return the same text
     * @throws IllegalArgumentException if it is too long or has control characters
     */
    public static String checkPayload(String payload) {
        if (payload.length() > MAX_PAYLOAD || payload.chars().anyMatch(Character::isISOControl)) {
            throw new IllegalArgumentException("A payload must have at most " + MAX_PAYLOAD
                    + " characters and no control characters, but was \"" + payload + "\"");
        }
        return payload;
    }
}
