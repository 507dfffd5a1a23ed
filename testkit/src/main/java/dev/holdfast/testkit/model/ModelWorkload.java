package dev.holdfast.testkit.model;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreTraits.Kinds;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.model.ModelName.Tracked;
import dev.holdfast.testkit.model.StoreModelRun.Met;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** The operations of a model run: what clients do in normal operation and after faults. */
final class ModelWorkload {

    private static final Duration PATIENCE = Duration.ofSeconds(10);
    private static final Duration POLL_EVERY = Duration.ofMillis(1);

    /** The first may be granted. If the second fits beside it, as two readers do, nothing is cancelled this time. */
    private static final int CLAIMS_UNTIL_ONE_WAITS = 2;

    /** So many threads wait when one is signalled: the first may leave, then there is a next one, and one that nobody signals. */
    private static final int LEAST_PLACES = 3;

    private final TwinStores twins;
    private final ModelTime time;
    private final Random random;
    private final List<Duration> leases;
    private final boolean fifo;
    private final boolean several;
    private final Kinds kinds;
    private final boolean push;
    private final List<Claimant> clients;
    private final EnumMap<Met, Integer> met = new EnumMap<>(Met.class);
    private Runnable touch = () -> {};
    private boolean timePassed;

    ModelWorkload(TwinStores twins, ModelTime time, Random random, List<Duration> leases) {
        this.twins = twins;
        this.time = time;
        this.random = random;
        this.leases = leases;
        this.fifo = twins.tested().traits().fifo();
        this.several = twins.tested().traits().atomicSeveral();
        this.kinds = twins.tested().traits().kinds();
        this.push = twins.tested().traits().push();
        Duration any = leases.get(0);
        this.clients = List.of(new Claimant("a", any), new Claimant("b", any), new Claimant("c", any));
        for (Met kind : Met.values()) {
            met.put(kind, 0);
        }
    }

    /** How often each event was met, in operations that count. */
    Map<Met, Integer> met() {
        return new EnumMap<>(met);
    }

    /** Takes events back whose operations do not count. */
    void forget(Map<Met, Integer> events) {
        events.forEach((event, times) -> met.merge(event, -times, Integer::sum));
    }

    /**
     * Sets the action that keeps the two stores in step whenever time passes while the run waits for a store that
     * polls.
     */
    void touchWhileWaiting(Runnable touch) {
        this.touch = touch;
    }

    /** Runs one operation on one of the names, or a few that belong together, and then compares the two stores. */
    void step(List<ModelName> names) {
        ModelName name = names.get(random.nextInt(names.size()));
        if (kinds != Kinds.MUTEX && !name.isInUse() && random.nextInt(3) == 0) {
            int[] limits = {1, Claim.ALL, 3, 5, 1, Claim.ALL, fifo ? 0 : 1};
            int limit = limits[random.nextInt(limits.length)];
            name.limit = kinds.serves(limit) ? limit : 1;
        }
        int dice = random.nextInt(100);
        if (dice < 15) {
            tryAcquire("new", name, newClaim(name));
        } else if (dice < 34) {
            queueUp("new", name, newClaim(name));
        } else if (dice < 42) {
            renewSome(name);
        } else if (dice < 50) {
            releaseHolder(name);
        } else if (dice < 58) {
            cancel(name);
        } else if (dice < 68) {
            repeat(name);
        } else if (dice < 76) {
            loseReply(name);
        } else if (dice < 79) {
            releaseBeforeAcquire(name);
        } else if (dice < 82) {
            shrink(name);
        } else if (dice < 84) {
            stale(name);
        } else if (dice < 86) {
            otherKind(name);
        } else if (dice < 88) {
            severalAtOnce(names);
        } else { // often, since half of the time no name can be a wait set
            signal(names, name);
        }
        compare(name);
    }

    /**
     * Separates the deadlines before the names rest. Grants that were handed to waiters last for the time of a
     * ticket and would end together with the waiting tickets, so they are renewed. Tickets are refreshed from the
     * last to the first, so that a waiter never outlives one before it, and no waiter is admitted because another
     * one expired.
     */
    void settleBeforeRest(List<ModelName> names, Duration ticket) {
        Duration longest = Collections.max(leases);
        List<Claim> batch = new ArrayList<>();
        for (ModelName name : names) {
            name.holdersLeftBetween(ticket.dividedBy(2), ticket.multipliedBy(2)).stream()
                    .map(claim -> claim.withLease(longest))
                    .forEach(batch::add);
            batch.addAll(name.waitersFromTheLast());
        }
        if (!batch.isEmpty()) {
            twins.renew("before rest", batch);
            names.forEach(this::compare);
        }
    }

    /** Compares the states that both stores report for a name. */
    private void compare(ModelName name) {
        name.see(twins.compareInspections(name.name()));
    }

    /** Compares the two stores after time has passed, and counts the claims that have expired. */
    void compareAfterTime(ModelName name) {
        List<Tracked> held = name.holding();
        List<Tracked> waited = name.waiting();
        compare(name);
        held.stream().filter(name::isGone).forEach(expired -> meet(Met.EXPIRY));
        for (Tracked tracked : waited) {
            if (name.isGone(tracked)) {
                boolean granted = tracked.listeners != null && tracked.listeners.wasGranted();
                meet(granted ? Met.EXPIRY : Met.DEAD_WAITER);
            }
        }
    }

    /**
     * Compares the notifications of the listeners of a name, and waits for those that are still on their way.
     *
     * @return whether time has passed during the wait
     */
    boolean checkListeners(ModelName name) {
        timePassed = false;
        for (Tracked tracked : name.claims()) {
            ListenerTwins twinned = tracked.listeners;
            if (twinned != null) {
                await(twinned::isComparable, "an outcome of " + TwinStores.shown(tracked.claim) + ": " + twinned);
                tracked.endIsCompared = name.isGone(tracked);
                twinned.compare(tracked.claim, tracked.endIsCompared);
                tracked.listeners = twinned.isOver() ? null : twinned;
            }
        }
        return timePassed;
    }

    private void tryAcquire(String why, ModelName name, Claim claim) {
        name.track(claim);
        twins.tryAcquire(why, claim);
    }

    private void queueUp(String why, ModelName name, Claim claim) {
        if (fifo) {
            enqueue(why, name.track(claim), claim);
        } else {
            tryAcquire(why, name, claim);
        }
    }

    private void enqueue(String why, Tracked tracked, Claim claim) {
        ListenerTwins listeners = new ListenerTwins();
        tracked.listeners = listeners;
        twins.enqueue(why, claim, listeners);
        awaitAnswer(listeners::areNotified, "any event of " + TwinStores.shown(claim));
        twins.note("  " + listeners);
        twins.compareFirstEvents(claim, listeners);
    }

    private void renewSome(ModelName name) {
        List<Tracked> candidates = new ArrayList<>(name.holding());
        candidates.addAll(name.waiting());
        Collections.shuffle(candidates, random);
        List<Claim> batch = candidates.stream()
                .limit(1 + random.nextInt(4))
                .map(tracked -> random.nextInt(3) == 0 ? tracked.claim.withLease(anyLease()) : tracked.claim)
                .toList();
        if (batch.isEmpty()) {
            tryAcquire("new", name, newClaim(name));
        } else {
            twins.renew("some", batch);
        }
    }

    private void releaseHolder(ModelName name) {
        ModelName.@Nullable Tracked holder = ModelName.any(name.holding(), random);
        if (holder == null) {
            queueUp("new", name, newClaim(name));
        } else if (random.nextInt(4) == 0) {
            breakAsSeen(name);
        } else {
            twins.release("holder", random.nextInt(3) == 0 ? holder.claim.again() : holder.claim);
        }
    }

    // Releases the claim that each store has shown, as an operator does.
    private void breakAsSeen(ModelName name) {
        TwinStores.@Nullable Inspections inspections = name.seen();
        if (inspections == null || inspections.model().isEmpty()) {
            return;
        }
        List<ResourceState.Entry> holders = inspections.model().orElseThrow().holders();
        int which = random.nextInt(holders.size());
        Claim ours = inspections.tested().orElseThrow().holders().get(which).claim();
        twins.release("as seen", ours.again(), holders.get(which).claim().again());
    }

    // If nobody waits, up to two claims are made, of which one should wait. Otherwise a slow machine, on which few
    // operations fit between two rests, would meet too few cancellations.
    private void cancel(ModelName name) {
        if (!fifo) {
            tryAcquire("new", name, newClaim(name));
            return;
        }
        ModelName.@Nullable Tracked waiter = ModelName.any(name.waiting(), random);
        for (int i = 0; waiter == null && i < CLAIMS_UNTIL_ONE_WAITS; i++) {
            queueUp("perhaps to be cancelled", name, newClaim(name));
            compare(name);
            waiter = ModelName.any(name.waiting(), random);
        }
        if (waiter == null) {
            return;
        }
        meet(Met.CANCELLATION);
        twins.release("cancel", random.nextBoolean() ? waiter.claim.again() : waiter.claim);
    }

    // As a condition does it: the place that was seen first is ended; if its thread has just left it, the next one is.
    private void signal(List<ModelName> names, ModelName otherwise) {
        ModelName name = waitSet(names);
        if (name == null) {
            tryAcquire("new", otherwise, newClaim(otherwise));
            return;
        }
        for (int i = name.waiting().size(); i < LEAST_PLACES; i++) {
            queueUp("to be signalled", name, newClaim(name));
        }
        compare(name);
        TwinStores.Inspections seen = Objects.requireNonNull(name.seen(), "it was compared");
        List<ResourceState.Entry> ours = seen.tested().orElseThrow().waiters();
        List<ResourceState.Entry> theirs = seen.model().orElseThrow().waiters();
        if (random.nextInt(3) == 0) {
            twins.release("leave", ours.get(0).claim(), theirs.get(0).claim());
        }
        boolean ended = false;
        for (int i = 0; i < theirs.size() && !ended; i++) {
            ended = twins.release("signal", ours.get(i).claim(), theirs.get(i).claim());
        }
        meet(Met.SIGNAL);
        compare(name);
    }

    /** A name that is a wait set, or an unused one that becomes one; null if there is none. */
    private @Nullable ModelName waitSet(List<ModelName> names) {
        if (!fifo || !kinds.serves(0)) {
            return null;
        }
        for (ModelName name : names) {
            if (name.isInUse() && name.limit == 0) {
                return name;
            }
        }
        for (ModelName name : names) {
            if (!name.isInUse()) {
                name.limit = 0;
                return name;
            }
        }
        return null;
    }

    private void repeat(ModelName name) {
        ModelName.@Nullable Tracked holder = ModelName.any(name.holding(), random);
        ModelName.@Nullable Tracked waiter = ModelName.any(name.waiting(), random);
        ModelName.@Nullable Tracked gone = ModelName.any(name.gone(), random);
        int dice = random.nextInt(4);
        if (dice == 0 && gone != null) {
            twins.release("repeated", gone.claim.again());
        } else if (waiter != null && dice < 3) {
            enqueue("repeated", waiter, waiter.claim.again());
        } else if (holder != null && fifo && dice == 3) {
            enqueue("repeated", holder, holder.claim.again());
        } else if (holder != null) {
            twins.tryAcquire("repeated", holder.claim.again());
        } else {
            Claim claim = newClaim(name);
            tryAcquire("first", name, claim);
            twins.tryAcquire("repeated", claim.again());
        }
        meet(Met.REPEAT);
    }

    // The first answer is compared, but the client acts as if it had never come.
    private void loseReply(ModelName name) {
        Claim claim = newClaim(name);
        boolean queued = fifo && random.nextBoolean();
        Tracked tracked = name.track(claim);
        if (queued) {
            enqueue("lost", tracked, claim);
        } else {
            twins.tryAcquire("lost", claim);
        }
        meet(Met.LOST_REPLY);
        int dice = random.nextInt(3);
        if (dice == 0) {
            twins.release("given up", claim.again());
        } else if (queued) {
            enqueue("asked again", tracked, claim.again());
        } else {
            twins.tryAcquire("asked again", claim.again());
        }
    }

    private void releaseBeforeAcquire(ModelName name) {
        Claim claim = newClaim(name);
        twins.release("before its acquire", random.nextBoolean() ? claim.again() : claim);
        if (random.nextBoolean()) {
            tryAcquire("late", name, claim);
        } else {
            queueUp("late", name, claim);
        }
    }

    private void shrink(ModelName name) {
        List<Tracked> large = name.holding().stream()
                .filter(tracked -> tracked.claim.permits() > 1)
                .toList();
        ModelName.@Nullable Tracked holder = ModelName.any(large, random);
        if (holder == null) {
            tryAcquire("new", name, newClaim(name));
            return;
        }
        Claim before = holder.claim;
        holder.claim = before.withPermits(1 + random.nextInt(before.permits() - 1));
        twins.tryAcquire("shrink", holder.claim);
        if (random.nextInt(3) == 0) {
            twins.tryAcquire("grow", before);
        }
    }

    private void stale(ModelName name) {
        ModelName.@Nullable Tracked gone = ModelName.any(name.gone(), random);
        if (gone == null) {
            twins.renew("unknown", List.of(newClaim(name)));
        } else if (random.nextBoolean()) {
            twins.renew("stale", List.of(gone.claim));
        } else {
            twins.release("stale", gone.claim);
        }
    }

    private void otherKind(ModelName name) {
        if (kinds == Kinds.MUTEX) {
            tryAcquire("new", name, newClaim(name));
            return;
        }
        int other = kinds == Kinds.READ_WRITE ? name.limit == 1 ? Claim.ALL : 1 : name.limit == 7 ? 8 : 7;
        Claim claim = clients.get(0).claim(name.name(), 1, other).withLease(anyLease());
        twins.tryAcquire("other kind", claim);
        twins.release("other kind", claim.again());
    }

    private void severalAtOnce(List<ModelName> names) {
        Set<ModelName> chosen = new LinkedHashSet<>();
        for (int i = 0; i < 3; i++) {
            chosen.add(names.get(random.nextInt(names.size())));
        }
        if (!several) {
            ModelName first = chosen.iterator().next();
            tryAcquire("new", first, newClaim(first));
            compare(first);
            return;
        }
        List<Claim> claims = new ArrayList<>();
        for (ModelName name : chosen) {
            claims.add(newClaim(name));
            name.track(claims.get(claims.size() - 1));
        }
        twins.tryAcquireAll(claims);
        chosen.forEach(this::compare);
    }

    private Claim newClaim(ModelName name) {
        int limit = name.limit;
        int permits = 1;
        if (limit == Claim.ALL) {
            permits = random.nextInt(3) == 0 ? Claim.ALL : 1;
        } else if (limit > 1) {
            permits = 1 + Math.min(random.nextInt(limit), random.nextInt(limit));
        }
        Claimant client = clients.get(random.nextInt(clients.size()));
        return client.claim(name.name(), permits, limit).withLease(anyLease());
    }

    private Duration anyLease() {
        return leases.get(random.nextInt(leases.size()));
    }

    private void meet(Met what) {
        met.merge(what, 1, Integer::sum);
    }

    // What a store that polls finds by that is reported when its clock says so.
    private void await(BooleanSupplier condition, String what) {
        await(condition, what, !push && time.isExact());
    }

    // The clock stands still until a request is answered: the model has answered it at once.
    private void awaitAnswer(BooleanSupplier condition, String what) {
        await(condition, what, false);
    }

    private void await(BooleanSupplier condition, String what, boolean timePasses) {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - deadline > 0) {
                throw new AssertionError("The store has not reported " + what + " within " + PATIENCE);
            }
            LockSupport.parkNanos(this, POLL_EVERY.toNanos());
            if (timePasses) {
                time.pass(POLL_EVERY);
                touch.run();
                timePassed = true;
            }
        }
    }
}
