package dev.holdfast.internal;

import dev.holdfast.Lease;
import dev.holdfast.LeaseState;
import dev.holdfast.LossReason;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/** A hold as a handle. */
final class HoldLease implements Lease {

    private final Engine engine;
    private final Hold hold;
    private final AtomicBoolean ended = new AtomicBoolean();

    HoldLease(Engine engine, Hold hold) {
        this.engine = engine;
        this.hold = hold;
    }

    Hold hold() {
        return hold;
    }

    @Override
    public List<String> names() {
        return List.of(hold.request().name().value());
    }

    @Override
    public long token() {
        return hold.token();
    }

    @Override
    public long token(String name) {
        if (!name.equals(hold.request().name().value())) {
            throw new IllegalArgumentException("This is the lease of " + names() + ", not of \"" + name + "\"");
        }
        return hold.token();
    }

    @Override
    public LeaseState state() {
        return hold.state(engine.now());
    }

    @Override
    public Duration remaining() {
        long now = engine.now();
        return hold.isHeld(now) ? Duration.ofNanos(hold.deadline() - now) : Duration.ZERO;
    }

    @Override
    public void onLost(Consumer<LossReason> listener) {
        engine.listen(hold, listener);
    }

    @Override
    public void extend(Duration lease) {
        Claim.checkLease(lease);
        if (hold.isReleased()) {
            throw new IllegalStateException("The lease of " + names() + " with token " + token() + " was released");
        }
        if (!hold.isHeld(engine.now())) {
            throw hold.lostException(engine);
        }
        Grant grant = hold.grant();
        long sentAt = engine.now();
        Claim claim = grant.claimFor(lease);
        Renewed answer;
        try {
            answer = engine.answers()
                    .join(
                            () -> engine.store().renew(List.of(claim)),
                            hold.request().storeTimeout())
                    .get(0);
        } catch (StoreException failure) {
            throw notExtended(failure);
        }
        if (answer instanceof Renewed.Failed failed) {
            throw notExtended(failed.cause());
        }
        grant.renewed(claim, answer, sentAt);
        if (!hold.isHeld(engine.now())) {
            throw hold.lostException(engine);
        }
    }

    private StoreUnavailableException notExtended(StoreException cause) {
        return new StoreUnavailableException(
                "The lease of " + names() + " with token " + token() + " was not extended: " + cause.getMessage()
                        + ". It is held for another " + remaining().toMillis() + " ms, or longer",
                cause);
    }

    @Override
    public void release() {
        if (ended.compareAndSet(false, true)) {
            Unlocking.release(engine, hold);
        }
    }

    @Override
    public CompletableFuture<Void> releaseAsync() {
        CompletableFuture<Void> done = new CompletableFuture<>();
        if (!ended.compareAndSet(false, true)) {
            done.complete(null);
            return done;
        }
        Runnable release = () -> {
            try {
                Unlocking.release(engine, hold);
                engine.callBack(() -> done.complete(null));
            } catch (RuntimeException lost) {
                engine.callBack(() -> done.completeExceptionally(lost));
            }
        };
        if (!engine.dispatch(release)) {
            // Closed: all is lost already, and nothing is sent.
            release.run();
        }
        return done;
    }

    @Override
    public String toString() {
        return "Lease[" + hold.request().name() + ", token " + token() + ", " + state() + "]";
    }
}
