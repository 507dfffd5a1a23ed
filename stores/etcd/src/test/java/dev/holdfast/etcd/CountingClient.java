package dev.holdfast.etcd;

import com.google.protobuf.ByteString;
import dev.holdfast.etcd.rpc.EtcdClient;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;

/** Counts the requests that a store sends, and the events that it has received and handled. */
final class CountingClient implements EtcdClient {

    private final EtcdClient delegate;
    final AtomicInteger txns = new AtomicInteger();
    /** Transactions that were answered. */
    final AtomicInteger answered = new AtomicInteger();
    /** Keys that these answers have carried, those of transactions within a transaction not counted. */
    final AtomicInteger keysRead = new AtomicInteger();
    /** Transactions whose answer the store has not handled yet. A test may see their effect before that, so it is never reset. */
    private final AtomicInteger underWay = new AtomicInteger();

    final AtomicInteger watches = new AtomicInteger();
    final AtomicInteger started = new AtomicInteger();
    final AtomicInteger events = new AtomicInteger();
    final AtomicInteger keepAlives = new AtomicInteger();
    /** How often the server was asked what its watches have reported. */
    final AtomicInteger asked = new AtomicInteger();

    final AtomicInteger others = new AtomicInteger();
    /** Whether each watch is reported as one that may have missed something, as while others write to the server. */
    volatile boolean watchesMiss;

    CountingClient(EtcdClient delegate) {
        this.delegate = delegate;
    }

    void reset() {
        List.of(txns, answered, keysRead, watches, started, events, keepAlives, asked, others)
                .forEach(count -> count.set(0));
    }

    /**
     * All messages in both directions: two for each request, four for each watch, which is created and cancelled,
     * and one for each event.
     */
    int messages() {
        return 2 * (txns.get() + keepAlives.get() + asked.get() + others.get()) + 4 * watches.get() + events.get();
    }

    /** Whether so many watches have started, and no transaction is under way. */
    boolean isAtRestWith(int running) {
        return watches.get() == running && started.get() == running && underWay.get() == 0;
    }

    @Override
    public CompletionStage<TxnResponse> txn(TxnRequest request, boolean writes) {
        txns.incrementAndGet();
        underWay.incrementAndGet();
        CompletableFuture<TxnResponse> passedOn = new CompletableFuture<>();
        delegate.txn(request, writes).whenComplete((answer, failure) -> {
            answered.incrementAndGet();
            if (failure == null) {
                answer.getResponsesList()
                        .forEach(response ->
                                keysRead.addAndGet(response.getResponseRange().getKvsCount()));
                passedOn.complete(answer);
            } else {
                passedOn.completeExceptionally(failure);
            }
            underWay.decrementAndGet();
        });
        return passedOn;
    }

    @Override
    public CompletionStage<LeaseGranted> grant(long ttlSeconds) {
        others.incrementAndGet();
        return delegate.grant(ttlSeconds);
    }

    @Override
    public CompletionStage<Long> keepAlive(long lease) {
        keepAlives.incrementAndGet();
        return delegate.keepAlive(lease);
    }

    @Override
    public CompletionStage<List<ByteString>> keysOf(long lease) {
        others.incrementAndGet();
        return delegate.keysOf(lease);
    }

    @Override
    public CompletionStage<Void> revoke(long lease) {
        others.incrementAndGet();
        return delegate.revoke(lease);
    }

    @Override
    public Watch watch(ByteString key, boolean isPrefix, long fromRevision, WatchListener listener) {
        watches.incrementAndGet();
        return delegate.watch(key, isPrefix, fromRevision, new WatchListener() {
            @Override
            public void onEvents(List<io.etcd.jetcd.api.Event> received) {
                listener.onEvents(received);
                events.addAndGet(received.size());
            }

            @Override
            public void onStarted(boolean missed) {
                listener.onStarted(missed || watchesMiss);
                started.incrementAndGet();
            }

            @Override
            public void onClosed() {
                listener.onClosed();
            }
        });
    }

    @Override
    public CompletionStage<Long> watchedUpTo() {
        asked.incrementAndGet();
        return delegate.watchedUpTo();
    }

    @Override
    public Duration timeout() {
        return delegate.timeout();
    }

    @Override
    public void close() {
        delegate.close();
    }

    @Override
    public String toString() {
        return delegate.toString();
    }
}
