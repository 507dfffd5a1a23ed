package dev.holdfast.redis.plain;

import dev.holdfast.redis.record.ClaimArguments;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.spi.ResourceState;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The grants whose strings this store object knows. Only these can be released and renewed by a single command; all
 * others are left to the scripts. Thread-safe.
 */
final class PlainGrants {

    private static final Pattern TEXT =
            Pattern.compile("holdfast1 (\\S+) (\\d+) (\\d+) (\\d+) (\\d+)\\n(.*)", Pattern.DOTALL);

    /** The time that is shown as left of a lock without an end. */
    private static final Duration NO_END = Duration.ofDays(36_500);

    /** The number of grants from which on expired grants that no one has released are looked for and removed. */
    private static final int SWEEP_SIZE = 1_024;

    private final Map<ClaimId, Grant> grants = new ConcurrentHashMap<>();
    private final MonotonicClock clock;
    private final long scriptEvery;
    private volatile int sweepSize = SWEEP_SIZE;

    /**
     * @param keep the shortest time for which the record beside the string outlives the last script that touched it
     */
    PlainGrants(MonotonicClock clock, Duration keep) {
        this.clock = clock;
        this.scriptEvery = keep.toNanos() / 2;
    }

    /**
     * An exclusive grant that is a string, as this store has last written it; {@code plain-text.lua} describes the
     * string.
     *
     * <h2>Why a single command may renew it</h2>
     *
     * <p>A command that replaces the string's time to live can shorten it. It does not shorten it if the grant is
     * known to end no later than its lease from the last renewal. That is so after each reply that reported no more
     * than the lease as the time left. The command also compares the whole string, which changes with each change
     * of the lease. So a late copy of the command finds either the same lease, which it prolongs, or another
     * string, which it does not touch.
     */
    static final class Grant {

        private final Claim claim;
        private final long counter;
        private final long since;
        private final long ends;
        private final boolean endsWithItsLease;
        private final long scriptDue;

        /** The time at which the grant is certainly over unless it is renewed. */
        private volatile long expires;

        /**
         * @param claim with the lease and the owner that the string contains
         * @param since when it was granted, on the server's clock
         * @param ends the end that the string contains
         * @param endsWithItsLease false if a longer lease prolonged it before, so that it ends later than its lease
         *     from now
         * @param scriptDue the time after which a script must renew it, so that the record beside the string is
         *     prolonged, too
         */
        private Grant(Claim claim, long counter, long since, long ends, boolean endsWithItsLease, long scriptDue) {
            this.claim = claim;
            this.counter = counter;
            this.since = since;
            this.ends = ends;
            this.endsWithItsLease = endsWithItsLease;
            this.scriptDue = scriptDue;
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
        private boolean isRenewedBy(Claim renewal, long now) {
            return endsWithItsLease
                    && scriptDue - now > 0
                    && ClaimArguments.millis(renewal.lease()) == ClaimArguments.millis(claim.lease())
                    && renewal.owner().equals(claim.owner());
        }
    }

    /**
     * Remembers a grant.
     *
     * @param leftMicros the time that is left of it
     */
    void written(Claim claim, long counter, long since, long ends, long leftMicros) {
        long now = clock.nanoTime();
        boolean endsWithItsLease = leftMicros <= ClaimArguments.millis(claim.lease()) * 1_000;
        Grant grant = new Grant(claim, counter, since, ends, endsWithItsLease, now + scriptEvery);
        grant.expires = now + leftMicros * 1_000;
        grants.put(claim.id(), grant);
        if (grants.size() > sweepSize) {
            grants.values().removeIf(other -> other.expires - now < 0);
            sweepSize = Math.max(SWEEP_SIZE, 2 * grants.size());
        }
    }

    /** The grant that a single command can renew as this claim asks for; null if there is none. */
    @Nullable
    Grant renewedBy(Claim claim) {
        Grant grant = grants.get(claim.id());
        return grant != null && grant.isRenewedBy(claim, clock.nanoTime()) ? grant : null;
    }

    /** Notes that a single command has renewed a grant. */
    void renewed(Grant grant, Duration lease) {
        grant.expires = clock.nanoTime() + lease.toNanos();
    }

    @Nullable
    Grant forget(ClaimId id) {
        return grants.remove(id);
    }

    /** How many grants are known. */
    int size() {
        return grants.size();
    }

    /**
     * Returns what an inspection shows of a lock.
     *
     * @param text the text of the lock, which Holdfast or another program has written
     * @param millisLeft the time left; -1 if the lock has no end
     * @param digest the SHA-1 of the text, by which a lock of another program can be released
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
