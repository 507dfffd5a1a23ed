package dev.holdfast.redis.plain;

import dev.holdfast.redis.record.ClaimArguments;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.spi.ResourceState;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An exclusive grant that is a string, as this store has last written it; {@code plain.lua} says what the string looks like.
 *
 * <h2>Why a single command may renew it</h2>
 *
 * <p>A command that replaces the string's time to live can shorten it. It does not when the grant is known to end no later than
 * its lease from the last renewal, which is so after each answer that told just the lease as what is left; and the command
 * compares the whole string, which is another one after each change of the lease. A copy that comes late then meets either the
 * same lease, which it prolongs, or another string, which it does not touch.
 */
final class PlainGrant {

    private static final Pattern TEXT =
            Pattern.compile("holdfast1 (\\S+) (\\d+) (\\d+) (\\d+) (\\d+)\\n(.*)", Pattern.DOTALL);

    /** What a lock without an end is said to have left. */
    private static final Duration NO_END = Duration.ofDays(36_500);

    private final Claim claim;
    private final long counter;
    private final long since;
    private final long ends;
    private final boolean endsWithItsLease;
    private final long askBy;

    /** When the grant is over for sure unless it is renewed. */
    private volatile long over;

    /**
     * @param claim with the lease and the owner that the string tells
     * @param since when it was granted, on the server's clock
     * @param ends what the string tells of its end
     * @param endsWithItsLease false if it was prolonged by a longer lease before, so that it ends later than its lease from now
     * @param askBy until when a single command may renew it: the record beside the string must be prolonged, too
     */
    PlainGrant(Claim claim, long counter, long since, long ends, boolean endsWithItsLease, long askBy) {
        this.claim = claim;
        this.counter = counter;
        this.since = since;
        this.ends = ends;
        this.endsWithItsLease = endsWithItsLease;
        this.askBy = askBy;
    }

    /** The whole string. */
    byte[] text() {
        return ("holdfast1 " + claim.id() + ' ' + counter + ' ' + since + ' ' + ends + ' '
                        + ClaimArguments.millis(claim.lease()) + '\n' + ClaimArguments.owner(claim))
                .getBytes(StandardCharsets.UTF_8);
    }

    long counter() {
        return counter;
    }

    /** Whether a single command can do what this renewal asks for. */
    boolean isRenewedBy(Claim renewal, long now) {
        return endsWithItsLease
                && askBy - now > 0
                && ClaimArguments.millis(renewal.lease()) == ClaimArguments.millis(claim.lease())
                && renewal.owner().equals(claim.owner());
    }

    void livesUntil(long time) {
        over = time;
    }

    boolean isOver(long now) {
        return over - now < 0;
    }

    /**
     * What to show of a string.
     *
     * @param text the string, ours or somebody else's
     * @param millisLeft -1 if it has no end
     * @param digest the SHA-1 of the text, by which somebody else's can be released
     * @param now the server's time
     */
    static ResourceState.Entry entry(LockName name, byte[] text, long millisLeft, String digest, long now) {
        String value = new String(text, StandardCharsets.UTF_8);
        Duration left = millisLeft < 0 ? NO_END : Duration.ofMillis(millisLeft);
        Matcher matcher = TEXT.matcher(value);
        if (matcher.matches()) {
            try {
                ClaimId id = ClaimId.parse(matcher.group(1));
                Duration lease = Duration.ofMillis(Long.parseLong(matcher.group(5)));
                Claim claim = new Claim(name, id, 1, 1, lease, ClaimArguments.owner(id, matcher.group(6)), false);
                Duration age = ClaimArguments.micros(Math.max(0, now - Long.parseLong(matcher.group(3))));
                return new ResourceState.Entry(claim, Long.parseLong(matcher.group(2)), age, left);
            } catch (IllegalArgumentException looksLikeOurs) {
                return foreign(name, value, millisLeft, left, digest);
            }
        }
        return foreign(name, value, millisLeft, left, digest);
    }

    private static ResourceState.Entry foreign(
            LockName name, String value, long millisLeft, Duration left, String digest) {
        ClaimId id = new ClaimId("foreign-" + digest, 0);
        String label = value + (millisLeft < 0 ? " (has no end)" : "");
        OwnerInfo owner = new OwnerInfo("unknown", "", 0, "", label, List.of());
        return new ResourceState.Entry(new Claim(name, id, 1, 1, within(left), owner, false), 0, Duration.ZERO, left);
    }

    private static Duration within(Duration left) {
        if (left.compareTo(Claim.MIN_LEASE) < 0) {
            return Claim.MIN_LEASE;
        }
        return left.compareTo(Claim.MAX_LEASE) > 0 ? Claim.MAX_LEASE : left;
    }
}
