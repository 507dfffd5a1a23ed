package dev.holdfast.internal.condition;

import dev.holdfast.internal.Engine;
import dev.holdfast.internal.hold.LockSpec;
import dev.holdfast.internal.time.Renewable;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The place of a thread in a wait set of the store: a claim that is never admitted. It is refreshed like that of any waiter.
 *
 * <p>The wait is over when the claim is gone: somebody has released it, which is a signal, or its ticket ended because this
 * JVM stood still or the store lost its data, which is like a spurious wake-up.
 */
final class WaitSetPlace extends Renewable implements Place {

    private final Engine engine;
    private final Thread thread = Thread.currentThread();
    /** Marked as repeated once an attempt to enter may have had an effect that nobody knows of. */
    private volatile Claim claim;

    private final long storeTimeout;
    private volatile boolean woken;
    private volatile boolean left;
    /** Set by whoever ends the wait here: the thread that leaves, or the close of its client. Only that one releases the claim. */
    private final AtomicBoolean ending = new AtomicBoolean();
    /** The answer to that release. */
    private final CompletableFuture<@Nullable Released> ended = new CompletableFuture<>();

    private final AtomicInteger failures = new AtomicInteger();

    /** Guarded by this; null when nothing may be registered any more. */
    private @Nullable ListenerRegistration registration = ListenerRegistration.NONE;

    /** @param lock what the thread gives up while it waits */
    WaitSetPlace(Engine engine, LockSpec waitSet, LockName lock) {
        this.engine = engine;
        this.claim = engine.newClaim(waitSet, thread, engine.locks().heldNames().copyWithout(lock));
        this.storeTimeout = waitSet.storeTimeout();
    }

    ClaimId id() {
        return claim.id();
    }

    /**
     * Enters the wait set, and waits until the store has confirmed that.
     *
     * @throws StoreException if it did not; nothing is left in the store then
     */
    void enter(long until) {
        engine.waitSets().add(this);
        boolean entered = false;
        Effect effect = Effect.UNKNOWN;
        try {
            new AskedCall<>(engine, until, this::enqueue).await();
            entered = true;
            refreshLater();
        } catch (StoreException failure) {
            effect = failure.effect();
            throw failure;
        } finally {
            if (!entered) {
                leaveHere();
                if (effect == Effect.UNKNOWN) {
                    leaveWhatMayBeThere();
                }
            }
        }
    }

    // A signal may have been meant for an entry of which this thread knows nothing.
    private void leaveWhatMayBeThere() {
        engine.releases().sendLater(claim.again()).thenAccept(released -> {
            if (mayHaveBeenSignalled(released)) {
                new PassedOnSignal(engine, claim.name()).startOnLane();
            }
        });
    }

    private CompletionStage<Boolean> enqueue(boolean repeated) {
        Entering listener = new Entering();
        if (repeated) {
            claim = claim.again();
        }
        keep(engine.store().enqueue(claim, listener));
        return listener.entered;
    }

    private void keep(ListenerRegistration registered) {
        ListenerRegistration unwanted;
        synchronized (this) {
            unwanted = registration == null ? registered : registration;
            registration = registration == null ? null : registered;
        }
        unwanted.close();
    }

    /** Listens to what becomes of one attempt to enter. */
    private final class Entering implements ClaimListener {

        private final CompletableFuture<Boolean> entered = new CompletableFuture<>();

        @Override
        public void waiting(int position, Duration retryAfter) {
            entered.complete(true);
        }

        @Override
        public void granted(Granted granted) {
            entered.completeExceptionally(new IllegalStateException("A wait set has granted " + claim.id()));
        }

        @Override
        public void ended(Renewed.Reason reason) {
            wake();
            entered.complete(true);
        }

        @Override
        public void failed(StoreException cause) {
            entered.completeExceptionally(cause);
        }
    }

    /** The claim is gone from the store. */
    void wake() {
        woken = true;
        engine.renewals().remove(this);
        LockSupport.unpark(thread);
    }

    @Override
    public boolean isWoken() {
        return woken;
    }

    @Override
    public boolean leave() {
        leaveHere();
        // In this order: the close wakes the thread, which must not take that for a signal and pass it on.
        boolean isOver = woken;
        boolean isFirst = ending.compareAndSet(false, true);
        if (isOver && isFirst) {
            engine.releases().endIfRepeated(claim);
            return true;
        }
        if (isFirst) {
            engine.releases().send(claim).thenAccept(ended::complete);
        }
        return mayHaveBeenSignalled(engine.calls().joinQuietly(ended, storeTimeout));
    }

    // Without an answer a signal may have come first. To take it for one costs a spurious wake-up; otherwise it would
    // be spent on a thread that has given up.
    private static boolean mayHaveBeenSignalled(@Nullable Released released) {
        return released == null || !released.wasOwner();
    }

    // If the thread had lost its lock, a signal may have ended the first of its entries before it made another one.
    @Override
    public boolean mayHaveMissedSignal() {
        return claim.repeated();
    }

    @Override
    public void close() {
        // A thread that leaves of itself need not be woken, and the answer to a second release would say that a signal
        // came first.
        if (ending.compareAndSet(false, true)) {
            engine.releases().sendLater(claim).thenAccept(ended::complete);
            wake();
        }
    }

    private void leaveHere() {
        left = true;
        engine.waitSets().remove(this);
        engine.renewals().remove(this);
        ListenerRegistration last;
        synchronized (this) {
            last = registration;
            registration = null;
        }
        if (last != null) {
            last.close();
        }
    }

    // ---- refreshing the ticket ----

    private void refreshLater() {
        failures.set(0);
        long refresh = engine.refreshAfter();
        schedule(refresh, refresh / Engine.REFRESH_EARLY_PART);
    }

    private void schedule(long after, long slack) {
        engine.renewals().schedule(this, engine.now() + after, slack);
        // A reply may come after the end, and the end at this moment.
        if (woken || left) {
            engine.renewals().remove(this);
        }
    }

    @Override
    public @Nullable Claim beginRenewal(long sentAt) {
        if (woken || left) {
            return null;
        }
        schedule(engine.repeatAfter(engine.traits().ticketTtl().toNanos()), 0);
        return claim;
    }

    @Override
    public void renewed(Claim asked, Renewed answer, long sentAt) {
        if (answer instanceof Renewed.Waiting) {
            refreshLater();
        } else if (answer instanceof Renewed.Failed failure) {
            renewalFailed(asked, failure.cause());
        } else {
            wake();
        }
    }

    @Override
    public void renewalFailed(Claim asked, StoreException cause) {
        schedule(Engine.RETRY.after(failures.getAndIncrement(), engine.time()), 0);
    }
}
