package dev.holdfast.internal;

import dev.holdfast.LockObserver.Request;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.LossListener;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.NodeAttempt;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreTraits;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;

/** A store whose requests are reported to the observer. Without an observer the engine uses the store itself. */
final class ObservedStore implements LockStore {

    private final LockStore store;
    private final MonotonicClock clock;
    private final Callbacks callbacks;

    ObservedStore(LockStore store, MonotonicClock clock, Callbacks callbacks) {
        this.store = store;
        this.clock = clock;
        this.callbacks = callbacks;
    }

    // On another thread: answers come on threads of the store's client, which must not run code of users.
    private void ended(Request request, long begun, boolean failed) {
        Duration took = Duration.ofNanos(clock.nanoTime() - begun);
        callbacks.observeRequest(observer -> observer.requestEnded(request, failed, took));
    }

    private <T> CompletionStage<T> timed(Request request, Supplier<CompletionStage<T>> call) {
        long begun = clock.nanoTime();
        CompletionStage<T> answer;
        try {
            answer = call.get();
        } catch (Throwable failure) {
            ended(request, begun, true);
            throw failure;
        }
        answer.whenComplete((value, failure) -> ended(request, begun, failure != null));
        return answer;
    }

    @Override
    public StoreTraits traits() {
        return store.traits();
    }

    @Override
    public CompletionStage<Attempt> tryAcquire(Claim claim) {
        return timed(Request.TRY_ACQUIRE, () -> store.tryAcquire(claim));
    }

    @Override
    public CompletionStage<List<Attempt>> tryAcquireAll(List<Claim> claims) {
        return timed(Request.TRY_ACQUIRE_ALL, () -> store.tryAcquireAll(claims));
    }

    @Override
    public CompletionStage<NodeAttempt> tryAcquireAsNode(Claim claim, long counter, boolean raise) {
        return timed(Request.TRY_ACQUIRE, () -> store.tryAcquireAsNode(claim, counter, raise));
    }

    @Override
    public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
        AskingListener asking = new AskingListener(listener);
        try {
            return store.enqueue(claim, asking);
        } catch (Throwable failure) {
            asking.end(true);
            throw failure;
        }
    }

    /** Reports the request to enter a queue when it is answered: by a place in the queue, at once by the lock, or by a failure. */
    private final class AskingListener implements ClaimListener {

        private final ClaimListener listener;
        private final long begun = clock.nanoTime();
        private final AtomicBoolean ended = new AtomicBoolean();

        private AskingListener(ClaimListener listener) {
            this.listener = listener;
        }

        private void end(boolean failed) {
            if (ended.compareAndSet(false, true)) {
                ObservedStore.this.ended(Request.ENQUEUE, begun, failed);
            }
        }

        @Override
        public void waiting(int position, Duration retryAfter) {
            end(false);
            listener.waiting(position, retryAfter);
        }

        @Override
        public void granted(Granted granted) {
            end(false);
            listener.granted(granted);
        }

        @Override
        public void ended(Renewed.Reason reason) {
            end(false);
            listener.ended(reason);
        }

        @Override
        public void failed(StoreException cause) {
            end(true);
            listener.failed(cause);
        }
    }

    @Override
    public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
        return timed(Request.RENEW, () -> store.renew(claims));
    }

    @Override
    public CompletionStage<Released> release(Claim claim) {
        return timed(Request.RELEASE, () -> store.release(claim));
    }

    @Override
    public ListenerRegistration watch(LockName name, Runnable mayBeFree) {
        return store.watch(name, mayBeFree);
    }

    @Override
    public ListenerRegistration watchLosses(LossListener listener) {
        return store.watchLosses(listener);
    }

    @Override
    public CompletionStage<Optional<ResourceState>> inspect(LockName name) {
        return timed(Request.INSPECT, () -> store.inspect(name));
    }

    @Override
    public CompletionStage<Optional<ResourceState>> inspect(LockName name, int waiters) {
        return timed(Request.INSPECT, () -> store.inspect(name, waiters));
    }

    @Override
    public CompletionStage<List<LockName>> list(String prefix, int limit) {
        return timed(Request.LIST, () -> store.list(prefix, limit));
    }

    @Override
    public void close() {
        store.close();
    }

    @Override
    public String toString() {
        return store.toString();
    }
}
