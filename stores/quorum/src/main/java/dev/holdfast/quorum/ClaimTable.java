package dev.holdfast.quorum;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed.Reason;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The claims that this client has asked for or released lately, and the ids that they have at the nodes. Thread-safe.
 *
 * <h2>Overview for maintainers</h2>
 *
 * <p>Each claim id has an entry. The first {@link Ballot} of an entry has the id itself, so that other clients of the same nodes can
 * repeat, renew and end the claim. Requests of a failed attempt may still be on their way when the engine asks again with the
 * same id, and a late release would end the grant of a later attempt; so each further ballot of the entry has a fresh id.
 *
 * <p>An entry is forgotten, and its id may be used as it is again, when all ballots are closed and settled. If one of them was not
 * clean, that is after the longest lease, since nodes may keep a tombstone of the id for so long. An id that was released before it was
 * granted has a tombstone here, too: an acquisition that comes later is refused (law 4).
 */
final class ClaimTable {

    /** The most claims that are known at once. Further ones are refused. */
    static final int MAX = 1_000_000;

    /** No search for entries that are over below this number. */
    private static final int SMALL = 1_000;

    /** The least time between two searches, of which each looks at all entries. */
    private static final long SEARCH_EVERY_NANOS = 1_000_000_000;

    private final Nodes nodes;
    private final MonotonicClock clock;
    private final long memory;
    private final Map<ClaimId, Entry> entries = new HashMap<>();
    /** The client of the fresh ids. */
    private final String client = "quorum-" + UUID.randomUUID();

    private long sequence;
    private int searchAbove = SMALL;
    private long sweptAt;

    private static final class Entry {
        private final ClaimId id;
        /** The last ballot. */
        private @Nullable Ballot ballot;
        /** What has opened it. */
        private @Nullable Acquisition attempt;
        /** Ballots that are not settled. */
        private int unsettled;

        private boolean kept;
        private long keptUntil;
        /** Whether it was released before it was granted, and that is remembered. */
        private boolean tombstone;

        private long tombstoneUntil;

        private Entry(ClaimId id) {
            this.id = id;
        }

        private boolean hasTombstone(long now) {
            tombstone &= tombstoneUntil - now > 0;
            return tombstone;
        }

        private boolean isOver(long now) {
            kept &= keptUntil - now > 0;
            return unsettled == 0 && !kept && !hasTombstone(now);
        }

        private boolean isUnderWay() {
            return attempt != null && !attempt.isDone();
        }

        /** Whether its votes have ended before this time, and its owner has neither renewed nor released it since. */
        private boolean wasAbandoned(long before) {
            return ballot != null && !ballot.isClosed() && !isUnderWay() && !ballot.hasVotes(before);
        }
    }

    /** @param memory for how long an id is remembered of which a node may keep a tombstone */
    ClaimTable(Nodes nodes, MonotonicClock clock, Duration memory) {
        this.nodes = nodes;
        this.clock = clock;
        this.memory = memory.toNanos();
        this.sweptAt = clock.nanoTime() - SEARCH_EVERY_NANOS;
    }

    /** Acquires, with the id that the claim has now. An attempt that is under way is joined. */
    CompletionStage<Attempt> acquire(Claim claim) {
        if (isLarge()) {
            sweep();
        }
        Acquisition attempt;
        Ballot lapsed = null;
        synchronized (this) {
            long now = clock.nanoTime();
            Entry entry = entry(claim.id(), now);
            if (entry == null) {
                return CompletableFuture.failedStage(StoreException.unavailable(
                        Effect.NONE, "Not sent: this client knows " + MAX + " claims already", null));
            }
            if (entry.hasTombstone(now)) {
                return CompletableFuture.completedStage(new Attempt.Busy(Duration.ZERO));
            }
            if (entry.attempt != null && entry.isUnderWay()) {
                return entry.attempt.resultFor(now);
            }
            Ballot before = entry.ballot;
            if (before != null && before.mayHold()) {
                attempt = new Acquisition(nodes, clock, before, claim);
            } else {
                lapsed = before != null && !before.isClosed() ? before : null;
                attempt = new Acquisition(nodes, clock, open(entry, claim), claim);
                entry.attempt = attempt;
            }
        }
        if (lapsed != null) {
            lapsed.close(false, false, Ballot.NOBODY);
        }
        attempt.run();
        return attempt.result();
    }

    private Ballot open(Entry entry, Claim claim) {
        ClaimId id = entry.ballot == null ? claim.id() : new ClaimId(client, ++sequence);
        Claim inner = new Claim(
                claim.name(), id, claim.permits(), claim.limit(), claim.lease(), claim.owner(), claim.repeated());
        Ballot[] self = new Ballot[1];
        self[0] = new Ballot(nodes, clock, inner, settled -> settled(entry, self[0].isClean(), settled));
        entry.ballot = self[0];
        entry.unsettled++;
        return self[0];
    }

    private @Nullable Entry entry(ClaimId id, long now) {
        Entry entry = entries.get(id);
        if (entry != null && !entry.isOver(now)) {
            return entry;
        }
        if (entry == null && entries.size() >= MAX) {
            return null;
        }
        entry = new Entry(id);
        entries.put(id, entry);
        return entry;
    }

    private synchronized boolean isLarge() {
        return entries.size() >= searchAbove && clock.nanoTime() - sweptAt >= SEARCH_EVERY_NANOS;
    }

    private synchronized void settled(Entry entry, boolean clean, boolean settled) {
        long now = clock.nanoTime();
        entry.unsettled += settled ? -1 : 1;
        if (!clean) {
            entry.kept = true;
            entry.keptUntil = now + memory;
        }
        forget(entry, now);
    }

    private void forget(Entry entry, long now) {
        if (entry.isOver(now)) {
            entries.remove(entry.id, entry);
        }
    }

    /**
     * What must be closed to release a claim: the ballot of this client, or that of a claim which this client does not know.
     * Ends an attempt that is under way.
     */
    Ballot release(Claim claim) {
        Ballot ballot;
        Acquisition attempt;
        synchronized (this) {
            long now = clock.nanoTime();
            Entry entry = entry(claim.id(), now);
            if (entry == null) {
                return new Ballot(nodes, clock, claim, settled -> {}).ofAnother();
            }
            attempt = entry.isUnderWay() ? entry.attempt : null;
            ballot = entry.ballot;
            if (ballot == null || ballot.isClosed() || attempt != null || claim.repeated()) {
                long end = now + claim.lease().toNanos();
                entry.tombstoneUntil =
                        entry.hasTombstone(now) && entry.tombstoneUntil - end > 0 ? entry.tombstoneUntil : end;
                entry.tombstone = true;
            }
            if (ballot == null) {
                ballot = open(entry, claim).ofAnother();
            }
        }
        if (attempt != null) {
            attempt.end();
        }
        return ballot;
    }

    /** The nodes have found the claim, so that an acquisition of it that comes later is a new one. */
    synchronized void wasFound(ClaimId id) {
        Entry entry = entries.get(id);
        if (entry != null && entry.attempt == null) {
            entry.tombstone = false;
            forget(entry, clock.nanoTime());
        }
    }

    /** Why a claim does not hold, as far as this client has asked for or released it lately; null if it has not. */
    synchronized @Nullable Reason gone(ClaimId id) {
        long now = clock.nanoTime();
        Entry entry = entries.get(id);
        return entry == null || entry.isOver(now) ? null : entry.hasTombstone(now) ? Reason.RELEASED : Reason.EXPIRED;
    }

    /** The ballot of a claim that holds; null if it does not. */
    synchronized @Nullable Ballot holding(ClaimId id) {
        Entry entry = entries.get(id);
        if (entry == null || entry.isUnderWay()) {
            return null;
        }
        return entry.ballot == null || entry.ballot.isClosed() ? null : entry.ballot;
    }

    /** The id by which the caller knows a claim that he holds; the same id for others. */
    synchronized ClaimId outer(ClaimId inner) {
        if (inner.client().equals(client)) {
            for (Entry entry : entries.values()) {
                if (entry.ballot != null && entry.ballot.id().equals(inner)) {
                    return entry.id;
                }
            }
        }
        return inner;
    }

    /** Forgets what is over. Returns how many claims are known afterwards. */
    int sweep() {
        List<Ballot> abandoned = new ArrayList<>();
        synchronized (this) {
            long now = clock.nanoTime();
            for (Iterator<Entry> all = entries.values().iterator(); all.hasNext(); ) {
                Entry entry = all.next();
                if (entry.ballot != null && entry.wasAbandoned(now - memory)) {
                    abandoned.add(entry.ballot);
                } else if (entry.isOver(now)) {
                    all.remove();
                }
            }
            searchAbove = Math.min(MAX, Math.max(SMALL, 2 * entries.size()));
            sweptAt = now;
        }
        abandoned.forEach(Ballot::forget); // each is removed from the entries when it is settled
        synchronized (this) {
            return entries.size();
        }
    }
}
