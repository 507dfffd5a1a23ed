package dev.holdfast.spi;

import java.time.Duration;

/**
 * What a grant carries, however it becomes known: as the answer to an attempt or to a renewal, by the notification of a
 * waiting claim, or as a part of the release that caused it. A renewal reports the counter every time, because a waiting
 * claim whose notification was lost learns of its grant in this way.
 *
 * @param counter the number of the grant; that of an exclusive grant is larger than that of every earlier grant of the name
 * @param lease how long the grant lasts, counted from the moment at which the store handled the request or, for a notification
 *     or a release, at which it granted the claim; for a repeated request, the time that is left
 */
public record Granted(long counter, Duration lease) implements Attempt, Renewed {

    /** A fencing token is the counter times this, plus the number of the hand-over inside the holder's process. */
    public static final int TOKENS_PER_GRANT = 1024;
}
