package dev.holdfast.testkit.fault;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.LossListener;
import dev.holdfast.spi.NodeAttempt;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A store behind a bad network. Faults are scripted ({@link #next}), random with a seed ({@link #randomly}), or a
 * partition in which every request is lost and nothing is pushed. A scripted fault is used before a random one.
 *
 * <p>Every injected failure states its effect correctly: UNKNOWN where the sender could not know, and NONE only if
 * nothing was executed. Listeners get each push exactly once, as the contract requires, even if requests were
 * duplicated.
 *
 * <p>Thread-safe. Delayed requests run on a common thread of the JVM, unless {@link #delayOn} has set another
 * executor. Hung requests and late copies run on the thread that lets them go.
 */
public final class FaultyStore extends ForwardingStore {

    private static final Duration DEFAULT_DELAY = Duration.ofMillis(20);

    private final Object monitor = new Object();
    private final Map<Verb, Deque<Fault>> script = new EnumMap<>(Verb.class);
    private final Map<Fault, Integer> met = new EnumMap<>(Fault.class);
    private final List<Runnable> hung = new ArrayList<>();
    private final List<Runnable> lateCopies = new ArrayList<>();
    private Random random = new Random(0);
    private double probability;
    private List<Fault> choices = List.of();
    private Duration delay = DEFAULT_DELAY;
    private Function<Duration, Executor> delayed = FaultyStore::inRealTime;
    private boolean partitioned;

    public FaultyStore(LockStore store) {
        super(store);
    }

    /**
     * Injects these faults into the next calls of a verb, one into each call, after the faults that were scripted
     * before.
     */
    public FaultyStore next(Verb verb, Fault... faults) {
        synchronized (monitor) {
            script.computeIfAbsent(verb, unused -> new ArrayDeque<>()).addAll(List.of(faults));
        }
        return this;
    }

    /** Injects one of these faults into each call with a probability. {@code randomly(0, 0)} ends this. */
    public FaultyStore randomly(long seed, double probability, Fault... faults) {
        if (probability > 0 && faults.length == 0) {
            throw new IllegalArgumentException("Name the faults that may happen");
        }
        synchronized (monitor) {
            this.random = new Random(seed);
            this.probability = probability;
            this.choices = List.of(faults);
        }
        return this;
    }

    /** Sets how long {@link Fault#DELAY} delays a request; the default is 20 ms. */
    public FaultyStore delayBy(Duration duration) {
        synchronized (monitor) {
            delay = duration;
        }
        return this;
    }

    /**
     * Sets where delayed requests run, instead of in real time. The function returns, for a delay, an executor that
     * runs a task after this delay. This is for tests with a clock of their own.
     */
    public FaultyStore delayOn(Function<Duration, Executor> clock) {
        synchronized (monitor) {
            delayed = clock;
        }
        return this;
    }

    /** Loses every request and every push until {@link #heal()}. */
    public void partition() {
        synchronized (monitor) {
            partitioned = true;
        }
    }

    /** Ends the partition. What was lost stays lost. */
    public void heal() {
        synchronized (monitor) {
            partitioned = false;
        }
    }

    /** How many requests hang. */
    public int hanging() {
        synchronized (monitor) {
            return hung.size();
        }
    }

    /** Lets all hanging requests and replies go, in their order. */
    public void letGo() {
        takeAll(hung).forEach(Runnable::run);
    }

    /** Executes the late copies, in their order. The answers to them are dropped. */
    public void deliverLateCopies() {
        takeAll(lateCopies).forEach(Runnable::run);
    }

    /** How often a fault was injected. */
    public int met(Fault fault) {
        synchronized (monitor) {
            return met.getOrDefault(fault, 0);
        }
    }

    @Override
    public CompletionStage<Attempt> tryAcquire(Claim claim) {
        return call(Verb.TRY_ACQUIRE, () -> store().tryAcquire(claim));
    }

    @Override
    public CompletionStage<NodeAttempt> tryAcquireAsNode(Claim claim, long counter, boolean raise) {
        return call(Verb.TRY_ACQUIRE, () -> store().tryAcquireAsNode(claim, counter, raise));
    }

    @Override
    public CompletionStage<List<Attempt>> tryAcquireAll(List<Claim> claims) {
        return call(Verb.TRY_ACQUIRE_ALL, () -> store().tryAcquireAll(claims));
    }

    @Override
    public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
        List<Claim> batch = List.copyOf(claims);
        return call(Verb.RENEW, () -> store().renew(batch));
    }

    @Override
    public CompletionStage<Released> release(Claim claim) {
        return call(Verb.RELEASE, () -> store().release(claim));
    }

    @Override
    public CompletionStage<Optional<ResourceState>> inspect(LockName name) {
        return call(Verb.INSPECT, () -> store().inspect(name));
    }

    @Override
    public CompletionStage<List<LockName>> list(String prefix, int limit) {
        return call(Verb.LIST, () -> store().list(prefix, limit));
    }

    @Override
    public ListenerRegistration watch(LockName name, Runnable mayBeFree) {
        return store().watch(name, () -> {
            if (!isPartitioned()) {
                mayBeFree.run();
            }
        });
    }

    @Override
    public ListenerRegistration watchLosses(LossListener listener) {
        return store().watchLosses((name, id, reason) -> {
            if (!isPartitioned()) {
                listener.lost(name, id, reason);
            }
        });
    }

    @Override
    public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
        FaultyRegistration registration = new FaultyRegistration(listener, this::isPartitioned);
        Runnable request = () -> registration.add(store().enqueue(claim, registration));
        Fault fault = faultOf(Verb.ENQUEUE);
        if (fault == null) {
            request.run();
            return registration;
        }
        switch (fault) {
            case REFUSE, REJECT, DROP_REQUEST -> registration.lose(failure(fault));
            case DROP_REPLY -> {
                registration.lose(failure(fault));
                request.run();
            }
            case DUPLICATE -> {
                request.run();
                request.run();
            }
            case DELAY -> delayed().execute(request);
            case LATE_COPY -> {
                keep(lateCopies, request);
                request.run();
            }
            case HANG -> keep(hung, request);
            case HANG_REPLY -> {
                registration.withhold();
                keep(hung, registration::deliverWithheld);
                request.run();
            }
        }
        return registration;
    }

    private <T> CompletionStage<T> call(Verb verb, Supplier<CompletionStage<T>> request) {
        Fault fault = faultOf(verb);
        if (fault == null) {
            return request.get();
        }
        CompletableFuture<T> answer = new CompletableFuture<>();
        switch (fault) {
            case REFUSE, REJECT, DROP_REQUEST -> answer.completeExceptionally(failure(fault));
            case DROP_REPLY ->
                request.get().whenComplete((value, failure) -> answer.completeExceptionally(failure(fault)));
            case DUPLICATE -> {
                CompletionStage<T> first = request.get();
                first.whenComplete((value, failure) -> answerWith(answer, request.get()));
            }
            case DELAY -> delayed().execute(() -> answerWith(answer, request.get()));
            case LATE_COPY -> {
                keep(lateCopies, () -> answerWith(new CompletableFuture<>(), request.get()));
                answerWith(answer, request.get());
            }
            case HANG -> keep(hung, () -> answerWith(answer, request.get()));
            case HANG_REPLY -> {
                CompletionStage<T> executed = request.get();
                keep(hung, () -> answerWith(answer, executed));
            }
        }
        return answer;
    }

    private static <T> void answerWith(CompletableFuture<T> answer, CompletionStage<T> executed) {
        executed.whenComplete((value, failure) -> {
            if (failure == null) {
                answer.complete(value);
            } else {
                answer.completeExceptionally(failure);
            }
        });
    }

    private @Nullable Fault faultOf(Verb verb) {
        synchronized (monitor) {
            Fault fault = chosenFor(verb);
            if (fault != null) {
                met.merge(fault, 1, Integer::sum);
            }
            return fault;
        }
    }

    private @Nullable Fault chosenFor(Verb verb) {
        if (partitioned) {
            return Fault.DROP_REQUEST;
        }
        Deque<Fault> scripted = script.get(verb);
        if (scripted != null && !scripted.isEmpty()) {
            return scripted.remove();
        }
        return probability > 0 && random.nextDouble() < probability
                ? choices.get(random.nextInt(choices.size()))
                : null;
    }

    private boolean isPartitioned() {
        synchronized (monitor) {
            return partitioned;
        }
    }

    private Executor delayed() {
        synchronized (monitor) {
            return delayed.apply(delay);
        }
    }

    private static Executor inRealTime(Duration delay) {
        return CompletableFuture.delayedExecutor(delay.toNanos(), TimeUnit.NANOSECONDS);
    }

    private void keep(List<Runnable> kept, Runnable request) {
        synchronized (monitor) {
            kept.add(request);
        }
    }

    private List<Runnable> takeAll(List<Runnable> kept) {
        synchronized (monitor) {
            List<Runnable> taken = List.copyOf(kept);
            kept.clear();
            return taken;
        }
    }

    private static StoreException failure(Fault fault) {
        String message = "A fault was injected: " + fault;
        if (fault == Fault.REJECT) {
            return StoreException.refused(message, null);
        }
        Effect effect = fault == Fault.REFUSE ? Effect.NONE : Effect.UNKNOWN;
        return StoreException.unavailable(effect, message, null);
    }
}
