package dev.holdfast.etcd;

import com.google.protobuf.ByteString;
import dev.holdfast.etcd.rpc.EtcdClient;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import io.etcd.jetcd.api.Event;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Loses what the test chooses: a request before it is sent, the answer to it, or what watches report. */
final class FaultyClient implements EtcdClient {

    static final StoreException LOST = StoreException.unavailable(Effect.UNKNOWN, "lost by the test", null);

    private final EtcdClient delegate;
    volatile Predicate<TxnRequest> losesRequest = request -> false;
    volatile Predicate<TxnRequest> losesAnswer = request -> false;
    /** Requests that are kept, and reported as failed, until {@link #deliver}. */
    volatile Predicate<TxnRequest> holdsBack = request -> false;

    private final List<TxnRequest> heldBack = new CopyOnWriteArrayList<>();
    /** Events of watches on these keys are kept until {@link #deliverEvents}. */
    volatile Predicate<ByteString> delaysEvents = key -> false;

    private final List<Runnable> delayedEvents = new CopyOnWriteArrayList<>();
    volatile boolean silencesWatches;
    volatile boolean refusesWatches;
    /** What a watch's server says to have reported; null for the truth. */
    volatile @Nullable Long reportedUpTo;

    /** What a renewal of a lease is answered; null for the truth. */
    volatile @Nullable Long keepAliveAnswer;

    /** Runs once, before a watch is sent. */
    volatile Runnable beforeFirstWatch = () -> {};

    /** Runs before a renewal of a lease is sent. */
    volatile Runnable beforeKeepAlive = () -> {};

    /** Answers to renewals of leases are kept until this is complete. */
    volatile CompletionStage<?> keepAlivesWaitFor = CompletableFuture.completedStage(null);

    /** Renewals and ends of leases are lost before they are sent. */
    volatile boolean losesSession;

    /** The end of a session reaches the servers when this is complete, and is lost if this fails. */
    volatile Supplier<CompletionStage<?>> revokesWaitFor = () -> CompletableFuture.completedStage(null);

    /** Runs when the server has answered about a lease, before the client hears it. */
    volatile Runnable beforeLeaseAnswer = () -> {};

    /** What is said to be the time limit of an answer; null for the truth. */
    volatile @Nullable Duration timeout;

    /** Answers to these transactions are kept until {@link #delayedWaitFor} is complete. */
    volatile Predicate<TxnRequest> delaysAnswer = request -> false;

    volatile CompletionStage<?> delayedWaitFor = CompletableFuture.completedStage(null);

    /** These transactions are sent when {@link #requestsWaitFor} is complete. */
    volatile Predicate<TxnRequest> delaysRequest = request -> false;

    volatile CompletionStage<?> requestsWaitFor = CompletableFuture.completedStage(null);

    FaultyClient(EtcdClient delegate) {
        this.delegate = delegate;
    }

    static boolean deletes(TxnRequest request) {
        return request.getSuccessList().stream().anyMatch(op -> op.hasRequestDeleteRange());
    }

    static boolean puts(TxnRequest request) {
        return request.getSuccessList().stream().anyMatch(op -> op.hasRequestPut());
    }

    /** Whether an existing key gets another value. */
    static boolean rewrites(TxnRequest request) {
        return request.getSuccessList().stream()
                .anyMatch(op -> op.hasRequestTxn()
                        ? rewrites(op.getRequestTxn())
                        : op.getRequestPut().getIgnoreLease());
    }

    int heldBack() {
        return heldBack.size();
    }

    /** Lets the requests arrive that were held back, as a network does that delivers them late. */
    void deliver() {
        holdsBack = request -> false;
        heldBack.forEach(
                request -> delegate.txn(request, true).toCompletableFuture().join());
    }

    int delayedEvents() {
        return delayedEvents.size();
    }

    /** Reports the events that were kept, unless their watches were closed meanwhile. */
    void deliverEvents() {
        delaysEvents = key -> false;
        delayedEvents.forEach(Runnable::run);
    }

    @Override
    public CompletionStage<TxnResponse> txn(TxnRequest request, boolean writes) {
        if (holdsBack.test(request)) {
            heldBack.add(request);
            return CompletableFuture.failedStage(LOST);
        }
        if (losesRequest.test(request)) {
            return CompletableFuture.failedStage(LOST);
        }
        CompletionStage<TxnResponse> answer = delaysRequest.test(request)
                ? requestsWaitFor.thenCompose(open -> delegate.txn(request, writes))
                : delegate.txn(request, writes);
        if (delaysAnswer.test(request)) {
            return answer.thenCombine(delayedWaitFor, (response, open) -> response);
        }
        return losesAnswer.test(request) ? answer.thenCompose(ignored -> CompletableFuture.failedStage(LOST)) : answer;
    }

    @Override
    public CompletionStage<LeaseGranted> grant(long ttlSeconds) {
        return delegate.grant(ttlSeconds).whenComplete((granted, failure) -> beforeLeaseAnswer.run());
    }

    @Override
    public CompletionStage<Long> keepAlive(long lease) {
        beforeKeepAlive.run();
        if (losesSession) {
            return CompletableFuture.failedStage(LOST);
        }
        Long answer = keepAliveAnswer;
        if (answer != null) {
            return CompletableFuture.completedStage(answer);
        }
        CompletionStage<?> gate = keepAlivesWaitFor;
        return delegate.keepAlive(lease)
                .whenComplete((seconds, failure) -> beforeLeaseAnswer.run())
                .thenCombine(gate, (seconds, open) -> seconds);
    }

    @Override
    public CompletionStage<List<ByteString>> keysOf(long lease) {
        return delegate.keysOf(lease);
    }

    @Override
    public CompletionStage<Void> revoke(long lease) {
        return losesSession
                ? CompletableFuture.failedStage(LOST)
                : revokesWaitFor.get().thenCompose(now -> delegate.revoke(lease));
    }

    @Override
    public Watch watch(ByteString key, boolean isPrefix, long fromRevision, WatchListener listener) {
        if (refusesWatches) {
            listener.onClosed();
            return () -> {};
        }
        Runnable first = beforeFirstWatch;
        beforeFirstWatch = () -> {};
        first.run();
        AtomicBoolean closed = new AtomicBoolean();
        Watch watch = delegate.watch(key, isPrefix, fromRevision, new WatchListener() {
            @Override
            public void onEvents(List<Event> events) {
                if (delaysEvents.test(key)) {
                    delayedEvents.add(() -> {
                        if (!closed.get()) {
                            listener.onEvents(events);
                        }
                    });
                } else if (!silencesWatches) {
                    listener.onEvents(events);
                }
            }

            @Override
            public void onStarted(boolean missed) {
                if (!silencesWatches) {
                    listener.onStarted(missed);
                }
            }

            @Override
            public void onClosed() {
                listener.onClosed();
            }
        });
        return () -> {
            closed.set(true);
            watch.close();
        };
    }

    @Override
    public CompletionStage<Long> watchedUpTo() {
        Long answer = reportedUpTo;
        if (answer != null) {
            return CompletableFuture.completedStage(answer);
        }
        return silencesWatches
                ? CompletableFuture.failedStage(StoreException.unavailable(Effect.NONE, "silenced by the test", null))
                : delegate.watchedUpTo();
    }

    @Override
    public Duration timeout() {
        Duration shorter = timeout;
        return shorter == null ? delegate.timeout() : shorter;
    }

    @Override
    public void close() {
        delegate.close();
    }
}
