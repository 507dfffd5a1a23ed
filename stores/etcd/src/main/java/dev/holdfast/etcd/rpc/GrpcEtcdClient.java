package dev.holdfast.etcd.rpc;

import com.google.protobuf.ByteString;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.store.TimeLimit;
import io.etcd.jetcd.api.KVGrpc;
import io.etcd.jetcd.api.LeaseGrantRequest;
import io.etcd.jetcd.api.LeaseGrpc;
import io.etcd.jetcd.api.LeaseKeepAliveRequest;
import io.etcd.jetcd.api.LeaseRevokeRequest;
import io.etcd.jetcd.api.LeaseTimeToLiveRequest;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Grpc;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The client over the generated gRPC stubs. Answers are read and stages are completed on the thread of the
 * connection: there is no thread pool, and no thread waits.
 *
 * <p>Requests for leases have their own connections, so that neither a large answer nor a slow listener can delay a
 * renewal.
 */
public final class GrpcEtcdClient implements EtcdClient {

    private static final CallOptions OPTIONS = CallOptions.DEFAULT.withExecutor(Runnable::run);

    private final Endpoints data;
    private final Endpoints leases;
    private final AuthToken authToken;
    private final long timeoutNanos;
    private final TimeLimit timeLimit;
    private final WatchStream watchStream;
    private final String where;
    private volatile boolean closed;

    /**
     * @param data the servers, for all requests except those for leases
     * @param leases the same servers in the same order, for the requests for leases
     * @param where a description of the servers, for messages
     */
    public GrpcEtcdClient(Endpoints data, Endpoints leases, AuthToken authToken, Duration timeout, String where) {
        this.data = data;
        this.leases = leases;
        this.authToken = authToken;
        this.timeoutNanos = timeout.toNanos();
        this.timeLimit = new TimeLimit(timeout);
        this.where = where;
        this.watchStream = new WatchStream(data, authToken, OPTIONS, timeoutNanos);
        data.whenLeft(watchStream::onEndpointLeft);
    }

    @Override
    public CompletionStage<TxnResponse> txn(TxnRequest request, boolean writes) {
        return call(data, KVGrpc.getTxnMethod(), request, writes);
    }

    @Override
    public CompletionStage<LeaseGranted> grant(long ttlSeconds) {
        LeaseGrantRequest request =
                LeaseGrantRequest.newBuilder().setTTL(ttlSeconds).build();
        // A lease whose number was lost with the answer just expires, so a repeat is harmless.
        return call(leases, LeaseGrpc.getLeaseGrantMethod(), request, false)
                .thenApply(response -> new LeaseGranted(response.getID(), response.getTTL()));
    }

    // Each keep-alive has its own stream, which the client closes before the answer comes. So it ends with an
    // answer or a failure, and cannot become silent without notice (etcd-io/jetcd#965, #1383).
    @Override
    public CompletionStage<Long> keepAlive(long lease) {
        LeaseKeepAliveRequest request =
                LeaseKeepAliveRequest.newBuilder().setID(lease).build();
        return call(leases, LeaseGrpc.getLeaseKeepAliveMethod(), request, false)
                .thenApply(response -> Math.max(0, response.getTTL()));
    }

    @Override
    public CompletionStage<List<ByteString>> keysOf(long lease) {
        LeaseTimeToLiveRequest request =
                LeaseTimeToLiveRequest.newBuilder().setID(lease).setKeys(true).build();
        return call(leases, LeaseGrpc.getLeaseTimeToLiveMethod(), request, false)
                .thenApply(response -> response.getKeysList());
    }

    @Override
    public CompletionStage<Void> revoke(long lease) {
        LeaseRevokeRequest request =
                LeaseRevokeRequest.newBuilder().setID(lease).build();
        return call(leases, LeaseGrpc.getLeaseRevokeMethod(), request, true).thenAccept(response -> {});
    }

    @Override
    public Watch watch(ByteString key, boolean isPrefix, long fromRevision, WatchListener listener) {
        return watchStream.add(key, isPrefix, fromRevision, listener);
    }

    @Override
    public CompletionStage<Long> watchedUpTo() {
        CompletableFuture<Long> answer = watchStream.reportedUpTo();
        TimeLimit.Call limit = timeLimit.begin(() -> answer.completeExceptionally(
                StoreException.unavailable(Effect.NONE, "The stream of the watches does not answer", null)));
        return answer.whenComplete((revision, failure) -> limit.end());
    }

    @Override
    public Duration timeout() {
        return Duration.ofNanos(timeoutNanos);
    }

    @Override
    public void close() {
        closed = true;
        watchStream.close();
        data.close();
        leases.close();
    }

    private <Q, A> CompletionStage<A> call(
            Endpoints endpoints, MethodDescriptor<Q, A> method, Q request, boolean writes) {
        CompletableFuture<A> answer = new CompletableFuture<>();
        if (closed) {
            answer.completeExceptionally(StoreException.unavailable(Effect.NONE, "The store is closed", null));
            return answer;
        }
        if (authToken.isNeeded() && authToken.token() == null) {
            logIn(endpoints, null, answer, () -> send(endpoints, method, request, writes, false, answer));
        } else {
            send(endpoints, method, request, writes, true, answer);
        }
        return answer;
    }

    private void logIn(Endpoints endpoints, @Nullable String refused, CompletableFuture<?> answer, Runnable then) {
        int endpoint = endpoints.current();
        authToken
                .renew(endpoints.channel(endpoint), OPTIONS, refused, timeoutNanos)
                .whenComplete((token, failure) -> {
                    if (failure == null) {
                        then.run();
                        return;
                    }
                    if (EtcdErrors.isServerFailure(Status.fromThrowable(failure))) {
                        endpoints.leave(endpoint);
                    }
                    answer.completeExceptionally(EtcdErrors.of(failure, false, where));
                });
    }

    private <Q, A> void send(
            Endpoints endpoints,
            MethodDescriptor<Q, A> method,
            Q request,
            boolean writes,
            boolean mayLogIn,
            CompletableFuture<A> answer) {
        int endpoint = endpoints.current();
        String token = authToken.token();
        ClientCall<Q, A> call = endpoints.channel(endpoint).newCall(method, OPTIONS);
        TimedCall timedCall = new TimedCall(call);
        call.start(
                new ClientCall.Listener<A>() {
                    private @Nullable A received;

                    @Override
                    public void onMessage(A message) {
                        received = message;
                        if (method.getType() != MethodDescriptor.MethodType.UNARY) {
                            answer.complete(message);
                        }
                    }

                    @Override
                    public void onClose(Status reported, Metadata trailers) {
                        Status status = timedCall.ended(reported);
                        A message = received;
                        if (status.isOk() && message != null) {
                            answer.complete(message);
                        } else if (!answer.isDone()) {
                            failed(status.isOk() ? Status.UNAVAILABLE.withDescription("no answer") : status);
                        }
                    }

                    private void failed(Status status) {
                        if (authToken.isNeeded() && mayLogIn && EtcdErrors.isTokenRefused(status)) {
                            logIn(
                                    endpoints,
                                    token,
                                    answer,
                                    () -> send(endpoints, method, request, writes, false, answer));
                            return;
                        }
                        if (EtcdErrors.isServerFailure(status)) {
                            endpoints.leave(endpoint);
                        }
                        answer.completeExceptionally(EtcdErrors.of(status.asException(), writes, where));
                    }
                },
                AuthToken.headers(token));
        timedCall.begin();
        call.request(2);
        call.sendMessage(request);
        call.halfClose();
    }

    /**
     * A call with its time limit. gRPC's own deadlines are not used: gRPC sends each one in a header whose value
     * differs every time, so the header compression searches a table full of such values, which costs a tenth of
     * the client's CPU.
     */
    private final class TimedCall {

        private final ClientCall<?, ?> call;
        private volatile @Nullable Status late;
        private volatile boolean ended;
        private volatile TimeLimit.@Nullable Call running;

        private TimedCall(ClientCall<?, ?> call) {
            this.call = call;
        }

        /** Starts the time limit. The call was started before, and may have ended already. */
        private void begin() {
            TimeLimit.Call begun = timeLimit.begin(this::tooLate);
            running = begun;
            if (ended) {
                begun.end();
            }
        }

        private void tooLate() {
            boolean wasConnected = call.getAttributes().get(Grpc.TRANSPORT_ATTR_REMOTE_ADDR) != null;
            Status status = EtcdErrors.late(wasConnected, timeout());
            late = status;
            call.cancel(status.getDescription(), null);
        }

        /**
         * The status that the call ended with: the time-out if the time limit has cancelled it, else the reported
         * status.
         */
        private Status ended(Status reported) {
            ended = true;
            TimeLimit.Call begun = running;
            if (begun != null) {
                begun.end();
            }
            Status why = late;
            return why != null && reported.getCode() == Status.Code.CANCELLED ? why : reported;
        }
    }

    @Override
    public String toString() {
        return where;
    }
}
