package dev.holdfast.etcd;

import com.google.protobuf.ByteString;
import dev.holdfast.etcd.rpc.EtcdClient;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;

/** Counts what a store sends. */
final class CountingClient implements EtcdClient {

    private final EtcdClient port;
    final AtomicInteger txns = new AtomicInteger();
    final AtomicInteger watches = new AtomicInteger();
    final AtomicInteger begun = new AtomicInteger();
    final AtomicInteger events = new AtomicInteger();
    final AtomicInteger keepAlives = new AtomicInteger();
    final AtomicInteger others = new AtomicInteger();

    CountingClient(EtcdClient port) {
        this.port = port;
    }

    void reset() {
        List.of(txns, watches, begun, events, keepAlives, others).forEach(count -> count.set(0));
    }

    /** All messages to and fro: an answer for each request, and two of each for a watch, which is made and ended. */
    int messages() {
        return 2 * (txns.get() + keepAlives.get() + others.get()) + 4 * watches.get() + events.get();
    }

    @Override
    public CompletionStage<TxnResponse> txn(TxnRequest request, boolean writes) {
        txns.incrementAndGet();
        return port.txn(request, writes);
    }

    @Override
    public CompletionStage<Granted> grant(long ttlSeconds) {
        others.incrementAndGet();
        return port.grant(ttlSeconds);
    }

    @Override
    public CompletionStage<Long> keepAlive(long lease) {
        keepAlives.incrementAndGet();
        return port.keepAlive(lease);
    }

    @Override
    public CompletionStage<List<ByteString>> keysOf(long lease) {
        others.incrementAndGet();
        return port.keysOf(lease);
    }

    @Override
    public CompletionStage<Void> revoke(long lease) {
        others.incrementAndGet();
        return port.revoke(lease);
    }

    @Override
    public Watch watch(ByteString key, boolean beginning, long fromRevision, Ears ears) {
        watches.incrementAndGet();
        return port.watch(key, beginning, fromRevision, new Ears() {
            @Override
            public void happened(List<io.etcd.jetcd.api.Event> happened) {
                events.addAndGet(happened.size());
                ears.happened(happened);
            }

            @Override
            public void began(boolean missed) {
                begun.incrementAndGet();
                ears.began(missed);
            }

            @Override
            public void deaf() {
                ears.deaf();
            }
        });
    }

    @Override
    public Duration timeout() {
        return port.timeout();
    }

    @Override
    public void close() {
        port.close();
    }

    @Override
    public String toString() {
        return port.toString();
    }
}
