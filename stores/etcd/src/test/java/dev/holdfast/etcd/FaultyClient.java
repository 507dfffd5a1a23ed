package dev.holdfast.etcd;

import com.google.protobuf.ByteString;
import dev.holdfast.etcd.rpc.EtcdClient;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Predicate;

/** Loses what it is told to lose: a request before it is sent, or the answer to it. */
final class FaultyClient implements EtcdClient {

    private final EtcdClient port;
    volatile Predicate<TxnRequest> losesRequest = request -> false;
    volatile Predicate<TxnRequest> losesAnswer = request -> false;

    FaultyClient(EtcdClient port) {
        this.port = port;
    }

    static boolean deletes(TxnRequest request) {
        return request.getSuccessList().stream().anyMatch(op -> op.hasRequestDeleteRange());
    }

    static boolean puts(TxnRequest request) {
        return request.getSuccessList().stream().anyMatch(op -> op.hasRequestPut());
    }

    @Override
    public CompletionStage<TxnResponse> txn(TxnRequest request, boolean writes) {
        StoreException lost = StoreException.unavailable(Effect.UNKNOWN, "lost by the test", null);
        if (losesRequest.test(request)) {
            return CompletableFuture.failedStage(lost);
        }
        CompletionStage<TxnResponse> answer = port.txn(request, writes);
        return losesAnswer.test(request) ? answer.thenCompose(ignored -> CompletableFuture.failedStage(lost)) : answer;
    }

    @Override
    public CompletionStage<Granted> grant(long ttlSeconds) {
        return port.grant(ttlSeconds);
    }

    @Override
    public CompletionStage<Long> keepAlive(long lease) {
        return port.keepAlive(lease);
    }

    @Override
    public CompletionStage<List<ByteString>> keysOf(long lease) {
        return port.keysOf(lease);
    }

    @Override
    public CompletionStage<Void> revoke(long lease) {
        return port.revoke(lease);
    }

    @Override
    public Watch watch(ByteString key, boolean beginning, long fromRevision, Ears ears) {
        return port.watch(key, beginning, fromRevision, ears);
    }

    @Override
    public Duration timeout() {
        return port.timeout();
    }

    @Override
    public void close() {
        port.close();
    }
}
