package dev.holdfast.internal;

import dev.holdfast.LossReason;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.StoreException;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The ways in which a hold ends: released, passed on, or shrunk from a write to a read hold. */
final class Unlocking {

    private static final long RETRY_FIRST_NANOS = 20_000_000;
    private static final long RETRY_MOST_NANOS = 1_000_000_000;

    private Unlocking() {}

    /** Gives a lease's hold up. Throws if it was lost, or if the store says that it had been. */
    static void release(Engine engine, Hold hold) {
        Resource resource = hold.resource();
        Grant back;
        resource.mutex().lock();
        try {
            back = end(resource, hold);
            resource.retireIfUnused();
        } finally {
            resource.mutex().unlock();
        }
        finish(engine, resource, hold, back);
    }

    /** Gives one count of a thread's hold up. */
    static void unlock(Engine engine, Request request, Thread thread) {
        Resource resource = engine.enter(request.name());
        ThreadHolds.Counts counts;
        Hold hold;
        Grant back = null;
        boolean shrinks = false;
        try {
            counts = resource.threads().leave(thread, request);
            if (counts == null) {
                throw notOwner(engine, request, thread);
            }
            hold = counts.hold();
            if (counts.isNone()) {
                back = end(resource, hold);
            } else {
                resource.noticeLoss(hold);
                shrinks = request.isExclusive() && counts.isOnlyShared() && hold.isOpen();
            }
            if (shrinks) {
                // Here at once, so that nobody takes the grant for a write grant while the trip is under way.
                hold.grant().shrinkTo(hold.grant().spec().asRead());
                resource.wakeHead();
            }
        } finally {
            resource.retireIfUnused();
            resource.mutex().unlock();
        }
        if (counts.isNone()) {
            finish(engine, resource, hold, back);
        } else if (hold.lossReason() != null) {
            throw hold.lostException(engine);
        } else if (shrinks) {
            shrink(engine, hold.grant(), 0);
        }
    }

    private static IllegalMonitorStateException notOwner(Engine engine, Request request, Thread thread) {
        return new IllegalMonitorStateException("Thread " + thread.getName() + " of client " + engine.clientId()
                + " does not hold " + (request.isRead() ? "read " : "") + "lock \"" + request.name()
                + "\": only the thread that locked it may unlock it, and as often as it locked it");
    }

    private static @Nullable Grant end(Resource resource, Hold hold) {
        resource.noticeLoss(hold);
        hold.markReleased();
        return resource.end(hold);
    }

    private static void finish(Engine engine, Resource resource, Hold hold, @Nullable Grant back) {
        engine.observeReleased(hold);
        if (back != null) {
            CompletableFuture<@Nullable Released> sent = engine.releases().send(back.claimToRelease());
            resource.transition(resource::wakeHead);
            Released answer = engine.answers().joinQuietly(sent, hold.request().storeTimeout());
            if (answer != null && !answer.wasOwner() && !back.claim().repeated()) {
                // The store had ended it, and nobody has told us: broken, or forgotten.
                hold.markBroken();
                engine.observe(observer -> observer.lost(hold.request().name().value(), LossReason.BROKEN));
            }
        }
        if (hold.lossReason() != null) {
            throw hold.lostException(engine);
        }
    }

    // The same claim with fewer permits keeps the token. It is repeated until it is known to have worked: until then
    // the grant merely shuts out more than it must.
    private static void shrink(Engine engine, Grant grant, int tries) {
        if (grant.isOver()) {
            return;
        }
        try {
            engine.store().tryAcquire(grant.claim()).whenComplete((attempt, failure) -> {
                if (failure != null) {
                    repeatShrink(engine, grant, tries, StoreException.of(failure));
                } else {
                    shrunk(engine, grant, attempt);
                }
            });
        } catch (Throwable failure) {
            repeatShrink(engine, grant, tries, StoreException.of(failure));
        }
    }

    private static void shrunk(Engine engine, Grant grant, Attempt attempt) {
        boolean same = attempt instanceof Granted granted && granted.counter() == grant.counter();
        if (!same) {
            // The write grant had ended in the store; what was granted now is another one, behind others' work.
            grant.resource().lostToAnother(grant);
        } else if (grant.isOver()) {
            engine.releases().sendLater(grant.claimToRelease());
        }
    }

    private static void repeatShrink(Engine engine, Grant grant, int tries, StoreException cause) {
        if (cause.retryable()) {
            long next = engine.now() + Backoff.jittered(tries, RETRY_FIRST_NANOS, RETRY_MOST_NANOS);
            engine.timer().alarm(next, () -> engine.dispatch(() -> shrink(engine, grant, tries + 1)));
        }
    }
}
