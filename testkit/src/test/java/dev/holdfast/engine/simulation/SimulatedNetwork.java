package dev.holdfast.engine.simulation;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.LossListener;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.spi.StoreTraits;
import dev.holdfast.testkit.ChangedTraits;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * The store as one process sees it: requests, answers and notifications take their time, overtake each other and get lost, as the
 * weather is. What the contract of a store demands holds all the same: a call ends within its time limit, a failure says whether
 * there may have been an effect, a listener is notified of one outcome, and a request whose answer was delivered has arrived once.
 */
final class SimulatedNetwork implements LockStore {

    /** Long after its failure was reported a request still arrives: after so long at most. */
    private static final long MOST_LATE = 1_500 * Weather.MILLI;

    /** Or after so long, when there is no tombstone of it any more. */
    private static final long MUCH_LATER = 5 * MOST_LATE;

    private static final int BATCH_PART_FAILS_ONCE_IN = 60;
    private static final int WRONG_ONCE_IN = 8;
    private static final int SLOW_ONCE_IN = 10;
    private static final int REJECTED_ONCE_IN = 30;

    private final World world;
    private final SimulatedProcess process;
    private final StoreTraits traits;
    private final long callTimeout;
    /** Of a store with a planted mistake: the last grant of each claim. */
    private final Map<ClaimId, Granted> lastGrants = new HashMap<>();
    /** Who listens for a claim: for one that was sent again, who did so last. To him goes what is pushed, however old it is. */
    private final Map<ClaimId, Registration> listening = new HashMap<>();

    private boolean partitioned;
    private LossListener losses;

    /** @param queues whether the store is to have a queue; if not, waiters try again and again */
    SimulatedNetwork(World world, SimulatedProcess process, boolean queues) {
        this.world = world;
        this.process = process;
        StoreTraits all = world.store().traits();
        this.traits = queues
                ? ChangedTraits.of(all).callTimeout(world.callTimeout()).get()
                : ChangedTraits.of(all)
                        .callTimeout(world.callTimeout())
                        .withoutQueue()
                        .withoutPush()
                        .oneNameAtATime()
                        .get();
        this.callTimeout = traits.callTimeout().toNanos();
    }

    void partition(boolean begins) {
        partitioned = begins;
    }

    @Override
    public StoreTraits traits() {
        return traits;
    }

    // ---- requests with one answer ----

    @Override
    public CompletionStage<Attempt> tryAcquire(Claim claim) {
        return call("tryAcquire", true, () -> world.store().tryAcquire(claim), attempt -> {
            if (attempt instanceof Granted granted) {
                lastGrants.put(claim.id(), granted);
            }
            return attempt instanceof Attempt.Busy && isWrong(Plant.GRANTED_BY_AN_OLD_READ)
                    ? new Granted(world.storeClock().epochMicros(), claim.lease())
                    : attempt;
        });
    }

    @Override
    public CompletionStage<List<Attempt>> tryAcquireAll(List<Claim> claims) {
        return call("tryAcquireAll", true, () -> world.store().tryAcquireAll(claims), answers -> answers);
    }

    @Override
    public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
        List<Claim> batch = List.copyOf(claims);
        if (isWrong(Plant.RENEWAL_CONFIRMED_BEFORE_IT_IS_WRITTEN)
                && batch.stream().allMatch(claim -> lastGrants.containsKey(claim.id()))) {
            return call(
                    "renew, not written",
                    false,
                    () -> CompletableFuture.completedStage(null),
                    nothing -> batch.stream()
                            .map(claim -> (Renewed)
                                    new Granted(lastGrants.get(claim.id()).counter(), claim.lease()))
                            .toList());
        }
        return call("renew", false, () -> world.store().renew(batch), answers -> {
            List<Renewed> seen = new ArrayList<>(answers);
            for (int i = 0; i < seen.size(); i++) {
                if (seen.get(i) instanceof Granted granted) {
                    lastGrants.put(batch.get(i).id(), granted);
                }
                if (world.weather().replyLost() > 0 && world.chance().once(BATCH_PART_FAILS_ONCE_IN)) {
                    seen.set(i, new Renewed.Failed(unknown("A part of the batch failed")));
                }
            }
            return seen;
        });
    }

    @Override
    public CompletionStage<Released> release(Claim claim) {
        return call(
                "release",
                false,
                () -> {
                    world.beforeRelease(claim);
                    world.handed().clear();
                    CompletionStage<Released> released = world.store().release(claim);
                    world.hint(claim.name());
                    List<Released.Handed> handed = List.copyOf(world.handed());
                    // Half of the answers say what the release has granted, which is notified of as well.
                    return handed.isEmpty() || world.chance().once(2)
                            ? released
                            : released.thenApply(answer -> new Released(answer.wasOwner(), handed));
                },
                answer -> answer);
    }

    @Override
    public CompletionStage<Optional<ResourceState>> inspect(LockName name) {
        return call("inspect", false, () -> world.store().inspect(name), state -> state);
    }

    @Override
    public CompletionStage<List<LockName>> list(String prefix, int limit) {
        return call("list", false, () -> world.store().list(prefix, limit), names -> names);
    }

    /** A hint that is late, or for nothing, or does not come. */
    @Override
    public ListenerRegistration watch(LockName name, Runnable mayBeFree) {
        return world.watch(process, name, mayBeFree);
    }

    @Override
    public ListenerRegistration watchLosses(LossListener listener) {
        losses = listener;
        return () -> losses = null;
    }

    /** A claim of this process was ended by somebody else, which the process hears now or much later. */
    void pushLoss(Claim claim) {
        if (!partitioned && world.chance().once(2)) {
            long delay = world.chance().mostlyShort(world.weather().pushDelay());
            world.send(process, delay, "hears of a loss", () -> {
                if (losses != null) {
                    losses.lost(claim.name(), claim.id(), Renewed.Reason.RELEASED);
                }
            });
        }
    }

    @Override
    public void close() {}

    private <T, R> CompletionStage<R> call(
            String what, boolean mayBeRejected, Supplier<CompletionStage<T>> request, Function<T, R> seen) {
        Trip trip = new Trip(what, mayBeRejected);
        CompletableFuture<R> answer = new CompletableFuture<>();
        if (process.dead) {
            return answer;
        }
        trip.go(
                () -> request.get()
                        .whenComplete((value, failure) -> trip.answer(() -> {
                            if (failure != null) {
                                answer.completeExceptionally(failure);
                            } else {
                                answer.complete(seen.apply(value));
                            }
                        })),
                answer::completeExceptionally);
        return answer;
    }

    /** The fate of one request. */
    private final class Trip {

        private final String what;
        private final boolean mayBeRejected;
        private final long begun = world.now();
        private boolean replyLost;
        private Consumer<StoreException> failed = cause -> {};

        private Trip(String what, boolean mayBeRejected) {
            this.what = what;
            this.mayBeRejected = mayBeRejected;
        }

        /** @param failed reports a failure, unless the request was answered before */
        private void go(Runnable atStore, Consumer<StoreException> whenFailed) {
            failed = whenFailed;
            beSlow();
            Chance chance = world.chance();
            Weather weather = world.weather();
            if (partitioned || chance.ofAThousand(weather.requestLost())) {
                fail(chance.below(callTimeout), unknown(what + " was lost"));
            } else if (chance.ofAThousand(weather.refused())) {
                StoreException cause = mayBeRejected && chance.once(REJECTED_ONCE_IN)
                        ? StoreException.refused(what + " was refused for good", null)
                        : StoreException.unavailable(Effect.NONE, what + " was refused", null);
                fail(chance.mostlyShort(weather.delay()), cause);
            } else if (chance.ofAThousand(weather.late())) {
                replyLost = true;
                fail(chance.mostlyShort(weather.delay()), unknown(what + " is late"));
                world.sendToStore(chance.below(chance.once(4) ? MUCH_LATER : MOST_LATE), what + " late", atStore);
            } else {
                long delay = Math.min(weather.delay(), callTimeout * 3 / 5);
                world.sendToStore(chance.mostlyShort(delay), what, atStore);
                if (chance.ofAThousand(weather.replyLost())) {
                    replyLost = true;
                    fail(chance.below(callTimeout), unknown("The answer to " + what + " was lost"));
                }
            }
        }

        // Others may overtake a thread of users before its request is sent.
        private void beSlow() {
            if (Thread.currentThread() instanceof SimulatedThread thread
                    && world.chance().once(SLOW_ONCE_IN)) {
                thread.beSlow();
            }
        }

        private void fail(long after, StoreException cause) {
            world.send(process, after, what + " fails", () -> failed.accept(cause));
        }

        private void answer(Runnable toClient) {
            long back = world.chance().mostlyShort(world.weather().delay());
            if (replyLost) {
                return;
            }
            long left = begun + callTimeout - world.now();
            if (partitioned || back >= left) {
                // Every call has a time limit.
                fail(Math.max(0, left), unknown(what + " was not answered in time"));
            } else {
                world.send(process, back, what + " is answered", toClient);
            }
        }
    }

    // ---- the queue ----

    @Override
    public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
        Registration registration = new Registration(claim, listener);
        if (!process.dead) {
            listening.put(claim.id(), registration);
            registration.trip.go(registration::atStore, registration::lost);
        }
        return registration;
    }

    /** Between the store and the listener of a claim. */
    private final class Registration implements ClaimListener, ListenerRegistration {

        private final Claim claim;
        private final ClaimListener listener;
        private final Trip trip = new Trip("enqueue", true);
        private ListenerRegistration atStore = NONE;
        private boolean isAnswering;
        private boolean answered;
        private boolean over;
        private boolean closed;

        private Registration(Claim claim, ClaimListener listener) {
            this.claim = claim;
            this.listener = listener;
        }

        private void atStore() {
            isAnswering = true;
            atStore = world.store().enqueue(claim, this);
            isAnswering = false;
        }

        // What the store reports at once is its answer; what comes later is pushed.
        private void pass(boolean outcome, String what, Consumer<ClaimListener> message) {
            if (isAnswering) {
                trip.answer(() -> deliver(outcome, message));
            } else if (!partitioned
                    && !world.chance().ofAThousand(world.weather().pushLost())) {
                long delay = world.chance().mostlyShort(world.weather().pushDelay());
                world.send(process, delay, what, () -> listening.get(claim.id()).deliver(outcome, message));
            }
        }

        private void deliver(boolean outcome, Consumer<ClaimListener> message) {
            // What is on its way when the listener is removed may reach it all the same.
            if (!over && !(closed && world.chance().once(2))) {
                answered = true;
                over = outcome;
                message.accept(listener);
            }
        }

        private void lost(StoreException cause) {
            if (!answered && !over) {
                over = true;
                listener.failed(cause);
            }
        }

        @Override
        public void waiting(int position, Duration retryAfter) {
            pass(false, "waits", to -> to.waiting(position, retryAfter));
        }

        @Override
        public void granted(Granted granted) {
            lastGrants.put(claim.id(), granted);
            world.handed().add(new Released.Handed(claim.id(), granted));
            pass(true, "is granted", to -> to.granted(granted));
        }

        @Override
        public void ended(Renewed.Reason reason) {
            pass(true, "is ended", to -> to.ended(reason));
        }

        @Override
        public void failed(StoreException cause) {
            pass(true, "is refused", to -> to.failed(cause));
        }

        @Override
        public void close() {
            closed = true;
            world.sendToStore(
                    world.chance().mostlyShort(world.weather().delay()), "a listener leaves", () -> atStore.close());
        }
    }

    private boolean isWrong(Plant plant) {
        return world.plant() == plant && world.chance().once(WRONG_ONCE_IN);
    }

    private static StoreException unknown(String message) {
        return StoreException.unavailable(Effect.UNKNOWN, message, null);
    }

    @Override
    public String toString() {
        return "simulated store";
    }
}
