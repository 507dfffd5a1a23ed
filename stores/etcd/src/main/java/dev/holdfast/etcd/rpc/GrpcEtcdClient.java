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
import io.grpc.Channel;
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
 * The port over the generated gRPC stubs. Answers are read, and stages completed, on the thread of the connection: there is
 * no pool, and no thread waits.
 *
 * <p>Leases have connections of their own, so that nothing large, and no slow listener, can hold a renewal up.
 */
public final class GrpcEtcdClient implements EtcdClient {

    private static final CallOptions OPTIONS = CallOptions.DEFAULT.withExecutor(Runnable::run);

    private final Endpoints data;
    private final Endpoints leases;
    private final AuthToken login;
    private final long timeoutNanos;
    private final TimeLimit timeLimit;
    private final WatchStream watches;
    private final String where;
    private volatile boolean closed;

    /**
     * @param data the servers, for all but leases
     * @param leases the servers once more, in the same order
     * @param where for messages
     */
    public GrpcEtcdClient(Endpoints data, Endpoints leases, AuthToken login, Duration timeout, String where) {
        this.data = data;
        this.leases = leases;
        this.login = login;
        this.timeoutNanos = timeout.toNanos();
        this.timeLimit = new TimeLimit(timeout);
        this.where = where;
        this.watches = new WatchStream(data, login, OPTIONS);
        data.whenLeft(watches::left);
    }

    @Override
    public CompletionStage<TxnResponse> txn(TxnRequest request, boolean writes) {
        return call(data, KVGrpc.getTxnMethod(), request, writes);
    }

    @Override
    public CompletionStage<Granted> grant(long ttlSeconds) {
        LeaseGrantRequest request =
                LeaseGrantRequest.newBuilder().setTTL(ttlSeconds).build();
        // A lease whose number never arrived just runs out, so a repeat is harmless.
        return call(leases, LeaseGrpc.getLeaseGrantMethod(), request, false)
                .thenApply(response -> new Granted(response.getID(), response.getTTL()));
    }

    // A stream for each beat, closed by us before it is answered: it ends with an answer or a failure, and cannot
    // fall silent unnoticed (etcd-io/jetcd#965, #1383).
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
    public Watch watch(ByteString key, boolean beginning, long fromRevision, Ears ears) {
        return watches.add(key, beginning, fromRevision, ears);
    }

    @Override
    public Duration timeout() {
        return Duration.ofNanos(timeoutNanos);
    }

    @Override
    public void close() {
        closed = true;
        watches.close();
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
        if (login.isNeeded() && login.token() == null) {
            logIn(endpoints, null, answer, () -> send(endpoints, method, request, writes, false, answer));
        } else {
            send(endpoints, method, request, writes, true, answer);
        }
        return answer;
    }

    private void logIn(Endpoints endpoints, @Nullable String refused, CompletableFuture<?> answer, Runnable then) {
        int endpoint = endpoints.current();
        login.renew(endpoints.channel(endpoint), OPTIONS, refused, timeoutNanos).whenComplete((token, failure) -> {
            if (failure == null) {
                then.run();
                return;
            }
            if (EtcdErrors.isOfTheServer(Status.fromThrowable(failure))) {
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
        String token = login.token();
        Channel channel = AuthToken.dressed(endpoints.channel(endpoint), token);
        ClientCall<Q, A> call = channel.newCall(method, OPTIONS);
        Limited limited = new Limited(call);
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
                    public void onClose(Status told, Metadata trailers) {
                        Status status = limited.ended(told);
                        A message = received;
                        if (status.isOk() && message != null) {
                            answer.complete(message);
                        } else if (!answer.isDone()) {
                            failed(status.isOk() ? Status.UNAVAILABLE.withDescription("no answer") : status);
                        }
                    }

                    private void failed(Status status) {
                        if (login.isNeeded() && mayLogIn && EtcdErrors.isTokenRefused(status)) {
                            logIn(
                                    endpoints,
                                    token,
                                    answer,
                                    () -> send(endpoints, method, request, writes, false, answer));
                            return;
                        }
                        if (EtcdErrors.isOfTheServer(status)) {
                            endpoints.leave(endpoint);
                        }
                        answer.completeExceptionally(EtcdErrors.of(status.asException(), writes, where));
                    }
                },
                new Metadata());
        limited.begin();
        call.request(2);
        call.sendMessage(request);
        call.halfClose();
    }

    /**
     * A call and its limit of time. gRPC has deadlines of its own, but tells each to the server in a header that is another one
     * each time: the compression of headers then searches a table full of them, for a tenth of the client's CPU.
     */
    private final class Limited {

        private final ClientCall<?, ?> call;
        private volatile @Nullable Status late;
        private volatile boolean ended;
        private volatile TimeLimit.@Nullable Call running;

        private Limited(ClientCall<?, ?> call) {
            this.call = call;
        }

        /** After the call has started, which may have ended it. */
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

        /** How the call has ended, as far as it was not this that ended it. */
        private Status ended(Status told) {
            ended = true;
            TimeLimit.Call begun = running;
            if (begun != null) {
                begun.end();
            }
            Status why = late;
            return why != null && told.getCode() == Status.Code.CANCELLED ? why : told;
        }
    }

    @Override
    public String toString() {
        return where;
    }
}
