package dev.holdfast.testkit.model;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.testkit.Claimant;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/** A name that a model run uses, with the claims made of it and its state at the last comparison. */
final class ModelName {

    /** How many claims that are gone are remembered, so that stale requests can be made with them. */
    private static final int REMEMBERED_GONE = 8;

    private static final Duration PROBE_LEASE = Duration.ofMinutes(1);

    private final LockName name;
    private final List<Tracked> claims = new ArrayList<>();
    private final Claimant prober = new Claimant("probe", PROBE_LEASE);

    /** The limit, and so the kind, that is claimed at present. */
    int limit = 1;

    private List<ResourceState.Entry> holders = List.of();
    private List<ResourceState.Entry> waiters = List.of();
    private TwinStores.@Nullable Inspections seen;

    /** A claim, and its listeners at the two stores. */
    static final class Tracked {
        Claim claim;

        @Nullable
        ListenerTwins listeners;

        /** Its listeners were compared after it was gone. Those of a dead waiter may never be notified. */
        boolean endIsCompared;

        Tracked(Claim claim) {
            this.claim = claim;
        }
    }

    ModelName(LockName name) {
        this.name = name;
    }

    LockName name() {
        return name;
    }

    /** A claim that no store knows. Renewing it changes nothing, but makes the store settle the name. */
    Claim probe() {
        return prober.claim(name, 1, Math.max(1, limit));
    }

    Tracked track(Claim claim) {
        Tracked tracked = new Tracked(claim);
        claims.add(tracked);
        return tracked;
    }

    List<Tracked> claims() {
        return claims;
    }

    TwinStores.@Nullable Inspections seen() {
        return seen;
    }

    /** Remembers the state that both stores report. */
    void see(TwinStores.Inspections inspections) {
        seen = inspections;
        holders = inspections.model().map(ResourceState::holders).orElse(List.of());
        waiters = inspections.model().map(ResourceState::waiters).orElse(List.of());
        long gone = claims.stream().filter(this::isGone).count();
        for (int i = 0; i < claims.size() && gone > REMEMBERED_GONE; ) {
            Tracked tracked = claims.get(i);
            if (isGone(tracked) && (tracked.listeners == null || tracked.endIsCompared)) {
                claims.remove(i);
                gone--;
            } else {
                i++;
            }
        }
    }

    boolean isInUse() {
        return !holders.isEmpty() || !waiters.isEmpty();
    }

    /** The claims whose grants end within such a time. */
    List<Claim> holdersLeftBetween(Duration least, Duration most) {
        return holders.stream()
                .filter(entry -> entry.remaining().compareTo(least) > 0
                        && entry.remaining().compareTo(most) < 0)
                .map(ResourceState.Entry::claim)
                .toList();
    }

    /** The claims that wait, the last of the queue first. */
    List<Claim> waitersFromTheLast() {
        List<Claim> reversed = new ArrayList<>();
        waiters.forEach(entry -> reversed.add(0, entry.claim()));
        return reversed;
    }

    List<Tracked> holding() {
        return claims.stream()
                .filter(tracked -> has(holders, tracked.claim.id()))
                .toList();
    }

    List<Tracked> waiting() {
        return claims.stream()
                .filter(tracked -> has(waiters, tracked.claim.id()))
                .toList();
    }

    List<Tracked> gone() {
        return claims.stream().filter(this::isGone).toList();
    }

    static @Nullable Tracked any(List<Tracked> candidates, Random random) {
        return candidates.isEmpty() ? null : candidates.get(random.nextInt(candidates.size()));
    }

    boolean isGone(Tracked tracked) {
        return !has(holders, tracked.claim.id()) && !has(waiters, tracked.claim.id());
    }

    private static boolean has(List<ResourceState.Entry> entries, ClaimId id) {
        return entries.stream().anyMatch(entry -> entry.claim().id().equals(id));
    }
}
