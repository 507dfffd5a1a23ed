package dev.holdfast.etcd;

import io.etcd.jetcd.api.LeaseGrpc;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.ForwardingClientCallListener.SimpleForwardingClientCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.util.concurrent.atomic.AtomicInteger;

/** Loses the answers to renewals of leases: the real server has renewed them, and the client gets no answer. */
final class FaultyKeepAlive implements ClientInterceptor {

    /** The status with which the stream of a renewal ends when its answer is lost. */
    private final Status end;

    private final AtomicInteger toLose = new AtomicInteger();

    /** How many answers were lost. */
    final AtomicInteger lost = new AtomicInteger();

    FaultyKeepAlive(Status end) {
        this.end = end;
    }

    void loseNext(int answers) {
        toLose.set(answers);
    }

    @Override
    public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
        ClientCall<Q, A> call = next.newCall(method, options);
        boolean renewal = method.getFullMethodName()
                .equals(LeaseGrpc.getLeaseKeepAliveMethod().getFullMethodName());
        if (!renewal || toLose.getAndUpdate(left -> Math.max(0, left - 1)) == 0) {
            return call;
        }
        return new SimpleForwardingClientCall<>(call) {
            @Override
            public void start(Listener<A> listener, Metadata headers) {
                super.start(
                        new SimpleForwardingClientCallListener<A>(listener) {
                            @Override
                            public void onMessage(A message) {
                                lost.incrementAndGet();
                            }

                            @Override
                            public void onClose(Status status, Metadata trailers) {
                                super.onClose(end, trailers);
                            }
                        },
                        headers);
            }
        };
    }
}
