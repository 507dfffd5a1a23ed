package dev.holdfast.store;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.KindConflictException;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Released.Handed;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The whole state of one resource and its transitions. It implements the laws of admission, order, tokens and
 * tombstones as a state machine without I/O, threads or a clock. Stores that keep a resource as one value (memory,
 * JDBC) use it. The testkit has the same rules a second time, as a plain list of claims, and compares the two.
 *
 * <p>Not thread-safe. Times are microseconds on the store's clock and never go back between two calls. If the
 * store's clock steps back, leases last longer; there is no other effect.
 *
 * <h2>Overview for maintainers</h2>
 *
 * <p>Every transition begins with {@link #settle}: entries whose time is over are dropped, then the head of the
 * queue is admitted while it fits. So between two transitions the head of the queue never fits, and an operation of
 * any client advances the queue past dead holders and dead waiters.
 *
 * <p>Invariants: the permits of the grants sum to at most the limit; a claim is in at most one of grants, waiters
 * and tombstones; the queue is in order of arrival; the counter never decreases. Grants and waiters have the limit
 * of the record; if there are neither, the next claim sets the limit.
 *
 * <p>A grant that {@link #settle} hands to a waiter lasts for the ticket's time to live only (or for the lease, if
 * that is shorter), because its owner may be frozen. The owner shows by a renewal that it is not. Grants that are
 * handed to waiters are collected until {@link #takeHanded} fetches them, so that the store can notify their
 * owners.
 */
public final class ResourceRecord {

    /**
     * The maximum number of tombstones of one name. The oldest are dropped first. Only lost replies leave
     * tombstones.
     */
    public static final int MAX_TOMBSTONES = 1_000;

    /**
     * A claim that holds or waits.
     *
     * @param claim the claim
     * @param counter the grant's number; 0 while it waits
     * @param since when it was granted or enqueued
     * @param expires when the grant or the ticket ends if it is not renewed
     */
    public record Place(Claim claim, long counter, long since, long expires) {}

    private final LockName name;
    private final long ticketTtl;
    private int limit;
    private long counter;
    private final Map<ClaimId, Place> grants = new LinkedHashMap<>();
    private final Map<ClaimId, Place> waiters = new LinkedHashMap<>();
    private final Map<ClaimId, Long> tombstones = new LinkedHashMap<>();
    private final List<Handed> handed = new ArrayList<>();

    /**
     * A resource that nobody has used yet.
     *
     * @param name its name
     * @param ticketTtl how long a position in the queue, and a grant that was handed to a waiter, last if they are
     *     not renewed
     */
    public ResourceRecord(LockName name, Duration ticketTtl) {
        this.name = name;
        this.ticketTtl = micros(ticketTtl);
    }

    /**
     * Restores a resource from the values that {@link #limit}, {@link #counter}, {@link #grants()} and the other
     * accessors returned.
     */
    public ResourceRecord(
            LockName name,
            Duration ticketTtl,
            int limit,
            long counter,
            List<Place> grants,
            List<Place> waiters,
            Map<ClaimId, Long> tombstones) {
        this(name, ticketTtl);
        this.limit = limit;
        this.counter = counter;
        grants.forEach(place -> this.grants.put(place.claim().id(), place));
        waiters.forEach(place -> this.waiters.put(place.claim().id(), place));
        this.tombstones.putAll(tombstones);
    }

    /**
     * Takes the grant now or not at all.
     *
     * @param now the time on the store's clock
     * @param epochMicros the store's wall clock; a new counter is never smaller than this
     * @throws KindConflictException if the resource is in use as another kind
     * @throws StoreException if the claim holds with fewer permits already
     */
    public Attempt tryAcquire(Claim claim, long now, long epochMicros) {
        settle(now, epochMicros);
        Place held = grants.get(claim.id());
        if (held != null) {
            return granted(resize(held, claim, now, epochMicros), now);
        }
        checkKind(claim);
        if (tombstones.containsKey(claim.id()) || !waiters.isEmpty() || !fits(claim)) {
            return new Attempt.Busy(untilFirstEnds(now));
        }
        return granted(grant(claim, now, now + micros(claim.lease()), epochMicros), now);
    }

    /**
     * Raises the counter of a claim that holds, and the last counter of the resource, to at least this one. Does nothing
     * else, in particular if the claim does not hold.
     */
    public void raise(ClaimId id, long least) {
        Place held = grants.get(id);
        if (held != null && held.counter() < least) {
            grants.put(id, new Place(held.claim(), least, held.since(), held.expires()));
            counter = Math.max(counter, least);
        }
    }

    /**
     * Takes the grant now, or enters the queue.
     *
     * @return held, waiting, or gone if the claim was released before it arrived
     * @throws KindConflictException if the resource is in use as another kind
     * @throws StoreException if the queue is full
     */
    public Renewed enqueue(Claim claim, long now, long epochMicros) {
        settle(now, epochMicros);
        if (grants.containsKey(claim.id()) || waiters.containsKey(claim.id())) {
            return renew(claim, now, epochMicros);
        }
        if (tombstones.containsKey(claim.id())) {
            return new Renewed.Gone(Renewed.Reason.RELEASED);
        }
        checkKind(claim);
        if (waiters.isEmpty() && fits(claim)) {
            Place place = grant(claim, now, now + micros(claim.lease()), epochMicros);
            return new Granted(place.counter(), duration(place.expires() - now));
        }
        if (waiters.size() >= LockStore.MAX_QUEUE) {
            throw StoreException.refused(
                    "\"" + name + "\" has " + LockStore.MAX_QUEUE + " waiters already, which is the most", null);
        }
        limit = claim.limit();
        waiters.put(claim.id(), new Place(claim, 0, now, now + ticketTtl));
        return waiting(waiters.size() - 1, now);
    }

    /** Renews a grant or refreshes a ticket. It never shortens one, and never revives one whose time is over. */
    public Renewed renew(Claim claim, long now, long epochMicros) {
        settle(now, epochMicros);
        Place held = grants.get(claim.id());
        if (held != null) {
            long expires = Math.max(held.expires(), now + micros(claim.lease()));
            grants.put(claim.id(), new Place(renewed(held, claim), held.counter(), held.since(), expires));
            return new Granted(held.counter(), duration(expires - now));
        }
        Place place = waiters.get(claim.id());
        if (place != null) {
            waiters.put(claim.id(), new Place(renewed(place, claim), 0, place.since(), now + ticketTtl));
            return waiting(positionOf(claim.id()), now);
        }
        if (tombstones.containsKey(claim.id())) {
            return new Renewed.Gone(Renewed.Reason.RELEASED);
        }
        boolean taken = !grants.isEmpty() && (limit != claim.limit() || !fits(claim));
        return new Renewed.Gone(taken ? Renewed.Reason.TAKEN : Renewed.Reason.EXPIRED);
    }

    /**
     * Ends the grant or the waiting of a claim.
     *
     * @return whether the claim held or waited; {@link #takeHanded} returns the grants that this release made
     */
    public boolean release(Claim claim, long now, long epochMicros) {
        settle(now, epochMicros);
        boolean held = grants.remove(claim.id()) != null;
        boolean found = waiters.remove(claim.id()) != null || held;
        if (!found || claim.repeated()) {
            addTombstone(claim.id(), now + micros(claim.lease()));
        }
        settle(now, epochMicros);
        return found;
    }

    /** What a store reports about the resource. It is empty if the resource is unused and has never been granted. */
    public Optional<ResourceState> inspect(long now, long epochMicros) {
        settle(now, epochMicros);
        if (counter == 0 && waiters.isEmpty()) {
            return Optional.empty();
        }
        int limitInUse = isFree() ? 0 : limit;
        return Optional.of(new ResourceState(name, limitInUse, counter, entries(grants, now), entries(waiters, now)));
    }

    /** Drops the entries whose time is over and admits the waiters that fit, in their order. */
    public void settle(long now, long epochMicros) {
        grants.values().removeIf(place -> place.expires() <= now);
        waiters.values().removeIf(place -> place.expires() <= now);
        tombstones.values().removeIf(expires -> expires <= now);
        Iterator<Place> queue = waiters.values().iterator();
        while (queue.hasNext()) {
            Claim head = queue.next().claim();
            if (!fits(head)) {
                return;
            }
            queue.remove();
            long lease = Math.min(ticketTtl, micros(head.lease()));
            Place place = grant(head, now, now + lease, epochMicros);
            handed.add(new Handed(head.id(), new Granted(place.counter(), duration(lease))));
        }
    }

    /** The grants that were handed to waiters since the last call, in order. */
    public List<Handed> takeHanded() {
        if (handed.isEmpty()) {
            return List.of();
        }
        List<Handed> taken = List.copyOf(handed);
        handed.clear();
        return taken;
    }

    /**
     * The entry of a claim that holds or waits, as far as is known without {@link #settle}; null if there is none.
     */
    public @Nullable Place placeOf(ClaimId id) {
        Place held = grants.get(id);
        return held != null ? held : waiters.get(id);
    }

    /** Whether nobody holds and nobody waits, as far as is known without {@link #settle}. */
    public boolean isFree() {
        return grants.isEmpty() && waiters.isEmpty();
    }

    public LockName name() {
        return name;
    }

    public int limit() {
        return limit;
    }

    public long counter() {
        return counter;
    }

    /** The live grants, oldest first; a copy. */
    public List<Place> grants() {
        return List.copyOf(grants.values());
    }

    /** The live waiters, first in the queue first; a copy. */
    public List<Place> waiters() {
        return List.copyOf(waiters.values());
    }

    /** The released claims whose acquire may still arrive, each with the time until which it is refused; a copy. */
    public Map<ClaimId, Long> tombstones() {
        return new LinkedHashMap<>(tombstones);
    }

    private Place grant(Claim claim, long now, long expires, long epochMicros) {
        counter = Math.max(counter + 1, epochMicros);
        limit = claim.limit();
        Place place = new Place(claim, counter, now, expires);
        grants.put(claim.id(), place);
        return place;
    }

    private Place resize(Place held, Claim claim, long now, long epochMicros) {
        int permits = held.claim().permits();
        if (claim.permits() > permits || claim.limit() != held.claim().limit()) {
            throw StoreException.refused(
                    "Claim " + claim.id() + " holds " + permits + " of "
                            + held.claim().limit() + " permits of \"" + name + "\" and cannot be changed to "
                            + claim.permits() + " of " + claim.limit(),
                    null);
        }
        Place place = held;
        if (claim.permits() < permits) {
            place = new Place(held.claim().withPermits(claim.permits()), held.counter(), held.since(), held.expires());
            grants.put(claim.id(), place);
            settle(now, epochMicros);
        }
        return place;
    }

    // A renewal replaces the lease and the owner. It cannot change the permits or the limit.
    private static Claim renewed(Place place, Claim claim) {
        Claim old = place.claim();
        return new Claim(
                old.name(), old.id(), old.permits(), old.limit(), claim.lease(), claim.owner(), claim.repeated());
    }

    private void checkKind(Claim claim) {
        if (!isFree() && limit != claim.limit()) {
            throw new KindConflictException(name, claim.limit(), limit);
        }
    }

    // A record without a grant admits a claim of any limit, because checkKind has checked before that it may.
    private boolean fits(Claim claim) {
        int granted = 0;
        for (Place place : grants.values()) {
            granted += place.claim().permits();
        }
        return claim.permits() <= claim.limit() - granted;
    }

    private void addTombstone(ClaimId id, long until) {
        tombstones.put(id, until);
        Iterator<ClaimId> oldest = tombstones.keySet().iterator();
        while (tombstones.size() > MAX_TOMBSTONES) {
            oldest.next();
            oldest.remove();
        }
    }

    private Renewed waiting(int position, long now) {
        return new Renewed.Waiting(position, untilFirstEnds(now));
    }

    private int positionOf(ClaimId id) {
        int position = 0;
        for (ClaimId waiter : waiters.keySet()) {
            if (waiter.equals(id)) {
                return position;
            }
            position++;
        }
        throw new IllegalStateException(id + " does not wait");
    }

    private Duration untilFirstEnds(long now) {
        long first = Long.MAX_VALUE;
        for (Place place : grants.values()) {
            first = Math.min(first, place.expires());
        }
        return first == Long.MAX_VALUE ? Duration.ZERO : duration(first - now);
    }

    private static Attempt granted(Place place, long now) {
        return new Granted(place.counter(), duration(place.expires() - now));
    }

    private static List<ResourceState.Entry> entries(Map<ClaimId, Place> places, long now) {
        return places.values().stream()
                .map(place -> new ResourceState.Entry(
                        place.claim(), place.counter(), duration(now - place.since()), duration(place.expires() - now)))
                .toList();
    }

    // Rounds up, so that a lease never ends before its time.
    private static long micros(Duration duration) {
        return (duration.toNanos() + 999) / 1_000;
    }

    private static Duration duration(long micros) {
        return Duration.ofNanos(micros * 1_000);
    }
}
