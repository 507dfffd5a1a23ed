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
 * <p>Each claim id has a page. The first {@link Ballot} of a page has the id itself, so that other clients of the same nodes can
 * repeat, renew and end the claim. Requests of a failed attempt may still be on their way when the engine asks again with the
 * same id, and a late release would end the grant of a later attempt; so each further ballot of the page has a fresh id.
 *
 * <p>A page is forgotten, and its id may be used as it is again, when all ballots are closed and settled. If one of them was not
 * clean, that is after the longest lease, since nodes may have buried the id for so long. An id that was released before it was
 * granted is buried here, too: an acquisition that comes later is refused (law 4).
 */
final class Book {

    /** The most claims that are known at once. Further ones are refused. */
    static final int MAX = 1_000_000;

    /** No search for pages that are over below this number. */
    private static final int SMALL = 1_000;

    /** The least time between two searches, of which each looks at all pages. */
    private static final long SEARCH_EVERY_NANOS = 1_000_000_000;

    private final Nodes nodes;
    private final MonotonicClock clock;
    private final long memory;
    private final Map<ClaimId, Page> pages = new HashMap<>();
    /** The client of the fresh ids. */
    private final String client = "quorum-" + UUID.randomUUID();

    private long sequence;
    private int searchAbove = SMALL;
    private long sweptAt;

    private static final class Page {
        private final ClaimId id;
        /** The last ballot. */
        private @Nullable Ballot ballot;
        /** What has opened it. */
        private @Nullable Acquisition attempt;
        /** Ballots that are not settled. */
        private int unsettled;

        private boolean kept;
        private long keptUntil;
        private boolean buried;
        private long buriedUntil;

        private Page(ClaimId id) {
            this.id = id;
        }

        private boolean isBuried(long now) {
            buried &= buriedUntil - now > 0;
            return buried;
        }

        private boolean isOver(long now) {
            kept &= keptUntil - now > 0;
            return unsettled == 0 && !kept && !isBuried(now);
        }

        private boolean isUnderWay() {
            return attempt != null && !attempt.isDone();
        }

        /** Whether its votes have ended before this time, and its owner has neither renewed nor released it since. */
        private boolean wasAbandoned(long before) {
            return ballot != null && !ballot.isClosed() && !isUnderWay() && !ballot.hasVotes(before);
        }
    }

    /** @param memory for how long an id is remembered that a node may have buried */
    Book(Nodes nodes, MonotonicClock clock, Duration memory) {
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
            Page page = page(claim.id(), now);
            if (page == null) {
                return CompletableFuture.failedStage(StoreException.unavailable(
                        Effect.NONE, "Not sent: this client knows " + MAX + " claims already", null));
            }
            if (page.isBuried(now)) {
                return CompletableFuture.completedStage(new Attempt.Busy(Duration.ZERO));
            }
            if (page.attempt != null && page.isUnderWay()) {
                return page.attempt.result();
            }
            Ballot before = page.ballot;
            if (before != null && before.mayHold()) {
                attempt = new Acquisition(nodes, clock, before, claim);
            } else {
                lapsed = before != null && !before.isClosed() ? before : null;
                attempt = new Acquisition(nodes, clock, open(page, claim), claim);
                page.attempt = attempt;
            }
        }
        if (lapsed != null) {
            lapsed.close(false, false, Ballot.NOBODY);
        }
        attempt.run();
        return attempt.result();
    }

    private Ballot open(Page page, Claim claim) {
        ClaimId id = page.ballot == null ? claim.id() : new ClaimId(client, ++sequence);
        Claim inner = new Claim(
                claim.name(), id, claim.permits(), claim.limit(), claim.lease(), claim.owner(), claim.repeated());
        Ballot[] self = new Ballot[1];
        self[0] = new Ballot(nodes, clock, inner, settled -> settled(page, self[0].isClean(), settled));
        page.ballot = self[0];
        page.unsettled++;
        return self[0];
    }

    private @Nullable Page page(ClaimId id, long now) {
        Page page = pages.get(id);
        if (page != null && !page.isOver(now)) {
            return page;
        }
        if (page == null && pages.size() >= MAX) {
            return null;
        }
        page = new Page(id);
        pages.put(id, page);
        return page;
    }

    private synchronized boolean isLarge() {
        return pages.size() >= searchAbove && clock.nanoTime() - sweptAt >= SEARCH_EVERY_NANOS;
    }

    private synchronized void settled(Page page, boolean clean, boolean settled) {
        long now = clock.nanoTime();
        page.unsettled += settled ? -1 : 1;
        if (!clean) {
            page.kept = true;
            page.keptUntil = now + memory;
        }
        forget(page, now);
    }

    private void forget(Page page, long now) {
        if (page.isOver(now)) {
            pages.remove(page.id, page);
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
            Page page = page(claim.id(), now);
            if (page == null) {
                return new Ballot(nodes, clock, claim, settled -> {}).ofAnother();
            }
            attempt = page.isUnderWay() ? page.attempt : null;
            ballot = page.ballot;
            if (ballot == null || ballot.isClosed() || attempt != null || claim.repeated()) {
                long end = now + claim.lease().toNanos();
                page.buriedUntil = page.isBuried(now) && page.buriedUntil - end > 0 ? page.buriedUntil : end;
                page.buried = true;
            }
            if (ballot == null) {
                ballot = open(page, claim).ofAnother();
            }
        }
        if (attempt != null) {
            attempt.end();
        }
        return ballot;
    }

    /** The nodes have found the claim, so that an acquisition of it that comes later is a new one. */
    synchronized void wasFound(ClaimId id) {
        Page page = pages.get(id);
        if (page != null && page.attempt == null) {
            page.buried = false;
            forget(page, clock.nanoTime());
        }
    }

    /** Why a claim does not hold, as far as this client has asked for or released it lately; null if it has not. */
    synchronized @Nullable Reason gone(ClaimId id) {
        long now = clock.nanoTime();
        Page page = pages.get(id);
        return page == null || page.isOver(now) ? null : page.isBuried(now) ? Reason.RELEASED : Reason.EXPIRED;
    }

    /** The ballot of a claim that holds; null if it does not. */
    synchronized @Nullable Ballot holding(ClaimId id) {
        Page page = pages.get(id);
        if (page == null || page.isUnderWay()) {
            return null;
        }
        return page.ballot == null || page.ballot.isClosed() ? null : page.ballot;
    }

    /** The id by which the caller knows a claim that he holds; the same id for others. */
    synchronized ClaimId outer(ClaimId inner) {
        if (inner.client().equals(client)) {
            for (Page page : pages.values()) {
                if (page.ballot != null && page.ballot.id().equals(inner)) {
                    return page.id;
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
            for (Iterator<Page> all = pages.values().iterator(); all.hasNext(); ) {
                Page page = all.next();
                if (page.ballot != null && page.wasAbandoned(now - memory)) {
                    abandoned.add(page.ballot);
                } else if (page.isOver(now)) {
                    all.remove();
                }
            }
            searchAbove = Math.min(MAX, Math.max(SMALL, 2 * pages.size()));
            sweptAt = now;
        }
        abandoned.forEach(Ballot::forget); // each is removed from the pages when it is settled
        synchronized (this) {
            return pages.size();
        }
    }
}
