package dev.holdfast.testkit.model;

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
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The laws of a store, written down as plainly as possible: for each name a list of its claims, which is gone through from its
 * beginning for every question. It is the second writing of what {@link dev.holdfast.store.ResourceRecord} does. It shares
 * nothing with that class, and takes no short cut, so that a mistake would have to be made twice to be overlooked.
 *
 * <p>The rules:
 *
 * <ol>
 *   <li>What a claim has ends at its time. A moment later it is as if it had never been.
 *   <li>A claim fits if its permits are at most its limit less the permits of all that hold.
 *   <li>The first who waits is granted as soon as it fits, then the next one. Nobody is granted before it.
 *   <li>A grant has a larger number than all earlier ones of the name, and at least the time of the wall clock.
 *   <li>A grant lasts for its lease. One that was handed to a waiter lasts for the time of a ticket, if that is shorter.
 *   <li>A renewal makes a grant last for one lease from now, or as long as before, whichever is later.
 *   <li>A claim that was released, and either was not there or may have been sent twice, is refused for one lease.
 *   <li>All that hold or wait have the same limit.
 * </ol>
 *
 * <p>Not thread-safe. Times are microseconds and never go back between two calls.
 */
final class PlainRules {

    /** So many released claims of one name are remembered; the oldest are forgotten first. */
    static final int MOST_RELEASED = 1_000;

    private static final int NANOS_OF_A_MICROSECOND = 1_000;

    private enum Standing {
        HOLDS,
        WAITS,
        RELEASED
    }

    /**
     * A claim that is known.
     *
     * @param counter the number of its grant; 0 without one
     * @param since when it came to this standing
     * @param until when that ends
     */
    private record Known(Claim claim, Standing standing, long counter, long since, long until) {}

    private final long ticket;
    private final Map<LockName, List<Known>> all = new HashMap<>();
    private final Map<LockName, Long> lastCounters = new HashMap<>();
    private final List<Handed> handed = new ArrayList<>();

    PlainRules(Duration ticketTtl) {
        this.ticket = micros(ticketTtl);
    }

    // ---- what clients ask for ----

    Attempt tryAcquire(Claim claim, long now, long wall) {
        letTimePass(claim.name(), now, wall);
        Known mine = find(claim.name(), claim.id());
        if (mine != null && mine.standing() == Standing.HOLDS) {
            Known smaller = shrunk(mine, claim);
            letTimePass(claim.name(), now, wall);
            return grantOf(smaller, now);
        }
        requireSameKind(claim);
        boolean wasReleased = mine != null && mine.standing() == Standing.RELEASED;
        if (wasReleased || !those(claim.name(), Standing.WAITS).isEmpty() || !fits(claim)) {
            return new Attempt.Busy(untilTheFirstGrantEnds(claim.name(), now));
        }
        return grantOf(grant(claim, micros(claim.lease()), now, wall), now);
    }

    /** All of them, or none: then all is as if nobody had asked. */
    List<Attempt> tryAcquireAll(List<Claim> claims, long now, long wall) {
        claims.forEach(claim -> letTimePass(claim.name(), now, wall));
        Map<LockName, List<Known>> before = new HashMap<>();
        claims.forEach(claim -> before.put(claim.name(), List.copyOf(of(claim.name()))));
        List<Handed> handedBefore = List.copyOf(handed);
        List<Attempt> answers = new ArrayList<>();
        try {
            for (Claim claim : claims) {
                Attempt answer = tryAcquire(claim, now, wall);
                if (answer instanceof Attempt.Busy) {
                    restore(before, handedBefore);
                    return List.of(answer);
                }
                answers.add(answer);
            }
        } catch (StoreException refused) {
            restore(before, handedBefore);
            throw refused;
        }
        return answers;
    }

    Renewed enqueue(Claim claim, long now, long wall) {
        letTimePass(claim.name(), now, wall);
        Known mine = find(claim.name(), claim.id());
        if (mine != null && mine.standing() == Standing.RELEASED) {
            return new Renewed.Gone(Renewed.Reason.RELEASED);
        }
        if (mine != null) {
            return renew(claim, now, wall);
        }
        requireSameKind(claim);
        List<Known> queue = those(claim.name(), Standing.WAITS);
        if (queue.isEmpty() && fits(claim)) {
            return grantOf(grant(claim, micros(claim.lease()), now, wall), now);
        }
        if (queue.size() >= LockStore.MAX_QUEUE) {
            throw StoreException.refused("The queue of \"" + claim.name() + "\" is full", null);
        }
        of(claim.name()).add(new Known(claim, Standing.WAITS, 0, now, now + ticket));
        return placeOf(claim, now);
    }

    Renewed renew(Claim claim, long now, long wall) {
        letTimePass(claim.name(), now, wall);
        Known mine = find(claim.name(), claim.id());
        if (mine == null) {
            boolean othersHaveIt =
                    !those(claim.name(), Standing.HOLDS).isEmpty() && (isInUseAsAnotherKind(claim) || !fits(claim));
            return new Renewed.Gone(othersHaveIt ? Renewed.Reason.TAKEN : Renewed.Reason.EXPIRED);
        }
        switch (mine.standing()) {
            case HOLDS -> {
                long until = Math.max(mine.until(), now + micros(claim.lease()));
                Known later = new Known(
                        withLeaseAndOwnerOf(claim, mine.claim()), Standing.HOLDS, mine.counter(), mine.since(), until);
                replace(mine, later);
                return grantOf(later, now);
            }
            case WAITS -> {
                replace(
                        mine,
                        new Known(
                                withLeaseAndOwnerOf(claim, mine.claim()),
                                Standing.WAITS,
                                0,
                                mine.since(),
                                now + ticket));
                return placeOf(claim, now);
            }
            default -> {
                return new Renewed.Gone(Renewed.Reason.RELEASED);
            }
        }
    }

    /** Whether it held or waited until now. */
    boolean release(Claim claim, long now, long wall) {
        letTimePass(claim.name(), now, wall);
        Known mine = find(claim.name(), claim.id());
        boolean wasThere = mine != null && mine.standing() != Standing.RELEASED;
        if (wasThere) {
            of(claim.name()).remove(mine);
        }
        if (!wasThere || claim.repeated()) {
            remember(claim, now);
        }
        letTimePass(claim.name(), now, wall);
        return wasThere;
    }

    Optional<ResourceState> inspect(LockName name, long now, long wall) {
        letTimePass(name, now, wall);
        List<Known> holders = those(name, Standing.HOLDS);
        List<Known> waiters = those(name, Standing.WAITS);
        long counter = lastCounters.getOrDefault(name, 0L);
        if (counter == 0 && waiters.isEmpty()) {
            return Optional.empty();
        }
        int limit = 0;
        for (Known one : of(name)) {
            if (one.standing() != Standing.RELEASED) {
                limit = one.claim().limit();
            }
        }
        return Optional.of(new ResourceState(name, limit, counter, entries(holders, now), entries(waiters, now)));
    }

    /** The names of which somebody holds or waits. */
    List<LockName> inUse(long now, long wall) {
        List<LockName> names = all.keySet().stream().sorted().toList();
        names.forEach(name -> letTimePass(name, now, wall));
        return names.stream()
                .filter(name -> !those(name, Standing.HOLDS).isEmpty()
                        || !those(name, Standing.WAITS).isEmpty())
                .toList();
    }

    /** The grants that were handed to waiters since the last call, in their order. */
    List<Handed> takeHanded() {
        List<Handed> taken = List.copyOf(handed);
        handed.clear();
        return taken;
    }

    /** The released claims that are refused, each with the time until which it is; a copy. */
    Map<ClaimId, Long> released(LockName name) {
        Map<ClaimId, Long> released = new LinkedHashMap<>();
        those(name, Standing.RELEASED).forEach(one -> released.put(one.claim().id(), one.until()));
        return released;
    }

    // ---- the rules ----

    /** Rules 1 and 3: what is over ends, and who waits first is granted while it fits. */
    private void letTimePass(LockName name, long now, long wall) {
        of(name).removeIf(one -> one.until() <= now);
        List<Known> queue = those(name, Standing.WAITS);
        while (!queue.isEmpty() && fits(queue.get(0).claim())) {
            Known first = queue.get(0);
            of(name).remove(first);
            long lasts = Math.min(ticket, micros(first.claim().lease()));
            Known granted = grant(first.claim(), lasts, now, wall);
            handed.add(new Handed(first.claim().id(), grantOf(granted, now)));
            queue = those(name, Standing.WAITS);
        }
    }

    /** Rule 2. */
    private boolean fits(Claim claim) {
        long held = 0;
        for (Known one : those(claim.name(), Standing.HOLDS)) {
            held += one.claim().permits();
        }
        return claim.permits() <= claim.limit() - held;
    }

    /** Rules 4 and 5. */
    private Known grant(Claim claim, long lasts, long now, long wall) {
        long counter = Math.max(lastCounters.getOrDefault(claim.name(), 0L) + 1, wall);
        lastCounters.put(claim.name(), counter);
        Known granted = new Known(claim, Standing.HOLDS, counter, now, now + lasts);
        of(claim.name()).add(granted);
        return granted;
    }

    /** Rule 7. */
    private void remember(Claim claim, long now) {
        Known released = new Known(claim, Standing.RELEASED, 0, now, now + micros(claim.lease()));
        Known before = find(claim.name(), claim.id());
        if (before == null) {
            of(claim.name()).add(released);
        } else {
            replace(before, released);
        }
        List<Known> remembered = those(claim.name(), Standing.RELEASED);
        if (remembered.size() > MOST_RELEASED) {
            of(claim.name()).remove(remembered.get(0));
        }
    }

    /** Rule 8. */
    private void requireSameKind(Claim claim) {
        for (Known one : of(claim.name())) {
            if (one.standing() != Standing.RELEASED && one.claim().limit() != claim.limit()) {
                throw new KindConflictException(
                        claim.name(), claim.limit(), one.claim().limit());
            }
        }
    }

    private boolean isInUseAsAnotherKind(Claim claim) {
        try {
            requireSameKind(claim);
            return false;
        } catch (KindConflictException anotherKind) {
            return true;
        }
    }

    /** A grant can be made smaller, and keeps its number and its time. It cannot be made larger, or another kind. */
    private Known shrunk(Known held, Claim to) {
        if (to.permits() > held.claim().permits() || to.limit() != held.claim().limit()) {
            throw StoreException.refused("Claim " + to.id() + " holds " + held.claim() + " and asks for " + to, null);
        }
        Known smaller = new Known(
                held.claim().withPermits(to.permits()), Standing.HOLDS, held.counter(), held.since(), held.until());
        replace(held, smaller);
        return smaller;
    }

    private static Claim withLeaseAndOwnerOf(Claim asked, Claim known) {
        Claim renewed = known.withLease(asked.lease()).withOwner(asked.owner());
        return new Claim(
                renewed.name(),
                renewed.id(),
                renewed.permits(),
                renewed.limit(),
                renewed.lease(),
                renewed.owner(),
                asked.repeated());
    }

    // ---- the lists ----

    private List<Known> of(LockName name) {
        return all.computeIfAbsent(name, unused -> new ArrayList<>());
    }

    private List<Known> those(LockName name, Standing standing) {
        List<Known> found = new ArrayList<>();
        for (Known one : of(name)) {
            if (one.standing() == standing) {
                found.add(one);
            }
        }
        return found;
    }

    private @Nullable Known find(LockName name, ClaimId id) {
        for (Known one : of(name)) {
            if (one.claim().id().equals(id)) {
                return one;
            }
        }
        return null;
    }

    private void replace(Known before, Known after) {
        List<Known> list = of(before.claim().name());
        list.set(list.indexOf(before), after);
    }

    private void restore(Map<LockName, List<Known>> before, List<Handed> handedBefore) {
        before.forEach((name, list) -> all.put(name, new ArrayList<>(list)));
        handed.clear();
        handed.addAll(handedBefore);
    }

    // ---- answers ----

    private static Granted grantOf(Known held, long now) {
        return new Granted(held.counter(), duration(held.until() - now));
    }

    private Renewed placeOf(Claim claim, long now) {
        int before = 0;
        for (Known one : those(claim.name(), Standing.WAITS)) {
            if (one.claim().id().equals(claim.id())) {
                return new Renewed.Waiting(before, untilTheFirstGrantEnds(claim.name(), now));
            }
            before++;
        }
        throw new IllegalStateException(claim.id() + " does not wait");
    }

    private Duration untilTheFirstGrantEnds(LockName name, long now) {
        return those(name, Standing.HOLDS).stream()
                .map(one -> duration(one.until() - now))
                .min(Duration::compareTo)
                .orElse(Duration.ZERO);
    }

    private static List<ResourceState.Entry> entries(List<Known> those, long now) {
        return those.stream()
                .map(one -> new ResourceState.Entry(
                        one.claim(), one.counter(), duration(now - one.since()), duration(one.until() - now)))
                .toList();
    }

    /** Leases round up. */
    private static long micros(Duration duration) {
        long nanos = duration.toNanos();
        long whole = nanos / NANOS_OF_A_MICROSECOND;
        return nanos % NANOS_OF_A_MICROSECOND == 0 ? whole : whole + 1;
    }

    private static Duration duration(long micros) {
        return Duration.ofNanos(micros * NANOS_OF_A_MICROSECOND);
    }
}
