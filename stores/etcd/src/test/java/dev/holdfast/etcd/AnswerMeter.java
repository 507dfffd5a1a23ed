package dev.holdfast.etcd;

import com.google.protobuf.MessageLite;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.ForwardingClientCallListener.SimpleForwardingClientCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import java.util.concurrent.atomic.AtomicLong;

/** Counts the answers that a channel receives, other than those to watches, and their bytes; and all requests. */
final class AnswerMeter implements ClientInterceptor {

    final AtomicLong requests = new AtomicLong();
    final AtomicLong answers = new AtomicLong();
    final AtomicLong bytes = new AtomicLong();
    final AtomicLong largest = new AtomicLong();

    void reset() {
        requests.set(0);
        answers.set(0);
        bytes.set(0);
        largest.set(0);
    }

    @Override
    public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
        ClientCall<Q, A> call = next.newCall(method, options);
        boolean isUnary = method.getType() == MethodDescriptor.MethodType.UNARY;
        return new SimpleForwardingClientCall<>(call) {
            @Override
            public void sendMessage(Q message) {
                requests.incrementAndGet();
                super.sendMessage(message);
            }

            @Override
            public void start(Listener<A> listener, Metadata headers) {
                if (!isUnary) {
                    super.start(listener, headers);
                    return;
                }
                super.start(
                        new SimpleForwardingClientCallListener<A>(listener) {
                            @Override
                            public void onMessage(A message) {
                                long size = ((MessageLite) message).getSerializedSize();
                                answers.incrementAndGet();
                                bytes.addAndGet(size);
                                largest.accumulateAndGet(size, Math::max);
                                super.onMessage(message);
                            }
                        },
                        headers);
            }
        };
    }
}
