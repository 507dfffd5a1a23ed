package dev.holdfast.testkit.model;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.law.StoreFixture;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/**
 * The store under test and the model. Every operation is sent to both, and both must give the same answer. Counters
 * are compared by their order, because each store has its own numbers.
 */
final class TwinStores {

    private static final int REMEMBERED = 30;

    private final LockStore tested;
    private final LockStore model;
    private final boolean timesAreExact;
    private final Map<LockName, List<Minted>> minted = new HashMap<>();
    /** The claims that waited {@link Renewed.Waiting#FAR} back or further when the store under test answered last. */
    private final Set<ClaimId> farBack = new HashSet<>();

    private final Deque<String> log = new ArrayDeque<>();
    private int operations;

    /** A grant of a name, as the two stores numbered it. */
    private record Minted(ClaimId id, boolean exclusive, long tested, long model) {}

    /** The inspected states of a name in the two stores. */
    record Inspections(Optional<ResourceState> tested, Optional<ResourceState> model) {}

    TwinStores(LockStore tested, LockStore model, boolean timesAreExact) {
        this.tested = tested;
        this.model = model;
        this.timesAreExact = timesAreExact;
    }

    LockStore tested() {
        return tested;
    }

    LockStore model() {
        return model;
    }

    int operations() {
        return operations;
    }

    Optional<Attempt> tryAcquire(String why, Claim claim) {
        return both(why + " tryAcquire " + shown(claim), store -> store.tryAcquire(claim), (ours, theirs) -> {
            same(ours, theirs, claim);
        });
    }

    void tryAcquireAll(List<Claim> claims) {
        String what = "tryAcquireAll " + claims.stream().map(TwinStores::shown).toList();
        both(what, store -> store.tryAcquireAll(claims), (ours, theirs) -> {
            boolean granted = theirs.get(0) instanceof Granted;
            if (!granted) {
                same(ours.stream().noneMatch(Granted.class::isInstance), true, "nothing is granted");
                return;
            }
            same(ours.size(), claims.size(), "the number of answers");
            for (int i = 0; i < claims.size(); i++) {
                same(ours.get(i), theirs.get(i), claims.get(i));
            }
        });
    }

    List<Renewed> renew(String why, List<Claim> claims) {
        String what = why + " renew " + claims.stream().map(TwinStores::shown).toList();
        return both(what, store -> store.renew(claims), (ours, theirs) -> {
                    same(ours.size(), theirs.size(), "the number of answers");
                    for (int i = 0; i < claims.size(); i++) {
                        same(ours.get(i), theirs.get(i), claims.get(i));
                    }
                })
                .orElseThrow();
    }

    void release(String why, Claim claim) {
        release(why, claim, claim);
    }

    /** Releases the same claim as each store has shown it; the result is whether it held or waited until now. */
    boolean release(String why, Claim inTested, Claim inModel) {
        // Not every store shows that a claim was sent twice, and only the release of one that was leaves a tombstone.
        boolean repeated = inTested.repeated() || inModel.repeated();
        Claim ours = repeated ? inTested.again() : inTested;
        Claim theirs = repeated ? inModel.again() : inModel;
        return both(
                        why + " release " + shown(theirs),
                        store -> store.release(store == tested ? ours : theirs),
                        (Released found, Released expected) ->
                                same(found.wasOwner(), expected.wasOwner(), "it was the owner"))
                .map(Released::wasOwner)
                .orElse(false);
    }

    /** The notifications of the two listeners are compared later, because a push takes time. */
    void enqueue(String why, Claim claim, ListenerTwins listeners) {
        begin(why + " enqueue " + shown(claim));
        tested.enqueue(claim, listeners.ours());
        model.enqueue(claim, listeners.theirs());
    }

    /** Compares the first events of the two listeners of an enqueue. */
    void compareFirstEvents(Claim claim, ListenerTwins listeners) {
        RecordingListener.Event ours = listeners.ours().events().get(0);
        RecordingListener.Event theirs = listeners.theirs().events().get(0);
        same(ours.getClass().getSimpleName(), theirs.getClass().getSimpleName(), "the first event of " + shown(claim));
        if (theirs instanceof RecordingListener.Event.Waiting waiting) {
            samePosition(((RecordingListener.Event.Waiting) ours).position(), waiting.position(), claim, false);
        } else if (theirs instanceof RecordingListener.Event.Granted grant) {
            mint(claim, ((RecordingListener.Event.Granted) ours).counter(), grant.counter());
        } else if (theirs instanceof RecordingListener.Event.Ended ended) {
            same(((RecordingListener.Event.Ended) ours).reason(), ended.reason(), "why " + shown(claim) + " ended");
        } else if (theirs instanceof RecordingListener.Event.Failed failed) {
            same(kind(((RecordingListener.Event.Failed) ours).cause()), kind(failed.cause()), "the refusal");
        }
    }

    /** Makes both stores notice the claims whose time is over. Any operation does this. */
    void touch(List<Claim> probes) {
        List<Renewed> theirs = StoreFixture.get(model.renew(probes));
        Object ours = outcome(tested.renew(probes));
        boolean allGone = ours instanceof List<?> answers && answers.stream().allMatch(Renewed.Gone.class::isInstance);
        same(allGone ? "gone" : ours, "gone", "claims that were never made: " + theirs);
    }

    /** Compares the states that both stores report for a name. */
    Inspections compareInspections(LockName name) {
        Optional<ResourceState> ours = StoreFixture.get(tested.inspect(name)).filter(ResourceState::isInUse);
        Optional<ResourceState> theirs = StoreFixture.get(model.inspect(name)).filter(ResourceState::isInUse);
        same(ours.isPresent(), theirs.isPresent(), "\"" + name + "\" is in use: " + ours + " / " + theirs);
        if (theirs.isPresent()) {
            ResourceState state = theirs.orElseThrow();
            ResourceState found = ours.orElseThrow();
            same(found.limit(), state.limit(), "the limit of \"" + name + "\"");
            compareEntries("holders", found.holders(), state.holders());
            compareEntries("waiters", found.waiters(), state.waiters());
        }
        return new Inspections(ours, theirs);
    }

    void note(String line) {
        if (log.size() == REMEMBERED) {
            log.removeFirst();
        }
        log.addLast(operations + ": " + line);
    }

    /** The last operations, one a line. */
    String history() {
        return String.join(System.lineSeparator(), log);
    }

    static String shown(Claim claim) {
        return claim.id() + " " + claim.permits() + "/" + claim.limit() + " of " + claim.name() + " for "
                + claim.lease().toMillis() + " ms" + (claim.repeated() ? " again" : "");
    }

    private void begin(String what) {
        operations++;
        note(what);
    }

    private interface Comparison<T> {
        void compare(T ours, T theirs);
    }

    private <T> Optional<T> both(String what, Function<LockStore, CompletionStage<T>> call, Comparison<T> comparison) {
        begin(what);
        Object ours = outcome(call.apply(tested));
        Object theirs = outcome(call.apply(model));
        note("  store " + ours + ", model " + theirs);
        if (ours instanceof StoreException || theirs instanceof StoreException) {
            same(kind(ours), kind(theirs), "the failure");
            return Optional.empty();
        }
        @SuppressWarnings("unchecked") // neither is a failure, so both are what the call gives
        T value = (T) theirs;
        @SuppressWarnings("unchecked")
        T found = (T) ours;
        comparison.compare(found, value);
        return Optional.of(value);
    }

    private static Object outcome(CompletionStage<?> stage) {
        try {
            return StoreFixture.get(stage);
        } catch (StoreException failure) {
            return failure;
        }
    }

    private static String kind(Object outcome) {
        return outcome instanceof StoreException failure
                ? failure.getClass().getSimpleName() + " with effect " + failure.effect()
                : "no failure";
    }

    private void same(Attempt ours, Attempt theirs, Claim claim) {
        same(ours.getClass().getSimpleName(), theirs.getClass().getSimpleName(), "the answer to " + shown(claim));
        if (theirs instanceof Granted grant) {
            Granted found = (Granted) ours;
            mint(claim, found.counter(), grant.counter());
            sameTime(found.lease(), grant.lease(), "the lease of " + shown(claim));
        }
    }

    private void same(Renewed ours, Renewed theirs, Claim claim) {
        same(ours.getClass().getSimpleName(), theirs.getClass().getSimpleName(), "the answer to " + shown(claim));
        if (theirs instanceof Granted held) {
            Granted found = (Granted) ours;
            mint(claim, found.counter(), held.counter());
            sameTime(found.lease(), held.lease(), "the lease of " + shown(claim));
        } else if (theirs instanceof Renewed.Waiting waiting) {
            samePosition(((Renewed.Waiting) ours).position(), waiting.position(), claim, true);
        } else if (theirs instanceof Renewed.Gone gone) {
            same(((Renewed.Gone) ours).reason(), gone.reason(), "why " + shown(claim) + " is gone");
        }
    }

    private void compareEntries(String which, List<ResourceState.Entry> ours, List<ResourceState.Entry> theirs) {
        same(ids(ours), ids(theirs), "the " + which);
        for (int i = 0; i < theirs.size(); i++) {
            Claim claim = theirs.get(i).claim();
            same(ours.get(i).claim().permits(), claim.permits(), "the permits of " + shown(claim));
            same(ours.get(i).claim().limit(), claim.limit(), "the limit of " + shown(claim));
            if (which.equals("holders")) {
                mint(claim, ours.get(i).counter(), theirs.get(i).counter());
            }
            sameTime(ours.get(i).remaining(), theirs.get(i).remaining(), "what is left of " + shown(claim));
            sameTime(ours.get(i).age(), theirs.get(i).age(), "the age of " + shown(claim));
        }
    }

    // The same grant has the same pair of numbers each time; two grants, one of them exclusive, have the same order in
    // both.
    private void mint(Claim claim, long ours, long theirs) {
        List<Minted> grants = minted.computeIfAbsent(claim.name(), unused -> new ArrayList<>());
        for (Minted other : grants) {
            if (other.id().equals(claim.id()) && other.model() == theirs) {
                same(ours, other.tested(), "the number of the grant of " + shown(claim));
                return;
            }
        }
        boolean exclusive = claim.isExclusive();
        for (Minted other : grants) {
            if (exclusive || other.exclusive()) {
                same(
                        Long.signum(Long.compare(ours, other.tested())),
                        Long.signum(Long.compare(theirs, other.model())),
                        "the order of the grants of " + shown(claim) + " (" + ours + " / " + theirs + ") and " + other);
            }
        }
        grants.add(new Minted(claim.id(), exclusive, ours, theirs));
    }

    // Even on a manual clock, a store's own poller may notice an expiry one step of time before or after the model.
    private void sameTime(Duration ours, Duration theirs, String what) {
        Duration tolerance = tested.traits().leaseStep().multipliedBy(2).plusMillis(20);
        if (timesAreExact && ours.minus(theirs).abs().compareTo(tolerance) > 0) {
            same(ours, theirs, what);
        }
    }

    private static List<ClaimId> ids(List<ResourceState.Entry> entries) {
        return entries.stream().map(entry -> entry.claim().id()).toList();
    }

    // A store need not count further than FAR, and may keep such an answer when it is asked again.
    private void samePosition(int ours, int theirs, Claim claim, boolean askedAgain) {
        int far = Renewed.Waiting.FAR;
        boolean kept = askedAgain && farBack.contains(claim.id());
        if (ours < far || !kept) {
            same(Math.min(ours, far), Math.min(theirs, far), "the position of " + shown(claim));
        }
        if (ours < far) {
            farBack.remove(claim.id());
        } else {
            farBack.add(claim.id());
        }
    }

    private static void same(Object ours, Object theirs, String what) {
        if (!ours.equals(theirs)) {
            throw new Difference("The store and the model differ in " + what + ": store " + ours + ", model " + theirs);
        }
    }
}
