package dev.holdfast.internal.election;

import dev.holdfast.election.Candidate;
import dev.holdfast.election.ElectionOptions;
import dev.holdfast.internal.Engine;
import dev.holdfast.internal.time.Alarm;
import dev.holdfast.internal.time.Nanos;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.ResourceState;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Looks for the leader at intervals, and notifies an observer when it sees another one than before. It has one question under way,
 * and one notification: while an observer works, leaders may come and go, and the newest is what it is notified of next.
 */
final class LeaderObservation {

    private final Engine engine;
    private final LockName name;
    private final long interval;
    private final long timeout;
    private final Consumer<Optional<Candidate>> observer;
    private final CallbackQueue callbacks;
    private final Alarm alarm = new Alarm(this::ask);

    /** The largest token that was seen. Used by callbacks only, as what follows. */
    private long newest;

    private @Nullable Seen seen;
    private volatile boolean closed;

    /** What makes a leader another one: the age of its claim does not. */
    private record Seen(long token, String id, String payload) {}

    LeaderObservation(Engine engine, LockName name, ElectionOptions options, Consumer<Optional<Candidate>> observer) {
        this.engine = engine;
        this.name = name;
        this.interval = Nanos.of(options.observeEvery());
        this.timeout = Nanos.of(options.storeTimeout());
        this.observer = observer;
        this.callbacks = new CallbackQueue(engine.callbacks());
    }

    void begin() {
        ask();
    }

    // On a thread that watches the time, so the request is made on another one.
    private void ask() {
        if (!closed) {
            engine.dispatch(this::inspect);
        }
    }

    private void inspect() {
        CompletableFuture<Optional<ResourceState>> answer;
        try {
            answer = engine.store().inspect(name).toCompletableFuture().copy();
        } catch (Throwable failure) {
            // Also an Error: the next look must be made.
            answer = CompletableFuture.failedFuture(failure);
        }
        engine.calls()
                .within(answer, timeout, engine.losses())
                .whenComplete((state, failure) ->
                        callbacks.run(() -> {
                            // A failure shows nothing about the leader: the next look will.
                            if (failure == null && !closed) {
                                notice(state
                                        .filter(used -> used.limit() == 1)
                                        .map(CandidateLabel::candidates)
                                        .orElse(List.of())
                                        .stream()
                                        .filter(Candidate::isLeader)
                                        .findFirst());
                            }
                            next();
                        }));
    }

    private void notice(Optional<Candidate> leader) {
        Seen now = leader.map(one -> new Seen(one.token(), one.id(), one.payload()))
                .orElse(new Seen(0, "", ""));
        boolean isOld = now.token() != 0 && now.token() < newest;
        if (isOld || now.equals(seen)) {
            return;
        }
        newest = Math.max(newest, now.token());
        seen = now;
        CallbackQueue.guard(() -> observer.accept(leader));
    }

    private void next() {
        engine.losses().schedule(alarm, Nanos.after(engine.now(), interval));
        if (closed) {
            engine.losses().remove(alarm);
        }
    }

    void close() {
        closed = true;
        engine.losses().remove(alarm);
    }
}
