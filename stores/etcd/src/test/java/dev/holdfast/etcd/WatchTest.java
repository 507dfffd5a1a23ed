package dev.holdfast.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.holdfast.etcd.rpc.AuthToken;
import dev.holdfast.etcd.rpc.Endpoints;
import dev.holdfast.etcd.rpc.EtcdClient;
import dev.holdfast.etcd.rpc.GrpcEtcdClient;
import io.etcd.jetcd.api.Event;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** A watch ends with a notification, however it ends. */
class WatchTest {

    /** A channel whose connection failed: its calls fail while they are started, on the thread that starts them. */
    private static final class FailingChannel extends Channel {

        @Override
        public <Q, A> ClientCall<Q, A> newCall(MethodDescriptor<Q, A> method, CallOptions options) {
            return new ClientCall<>() {
                @Override
                public void start(Listener<A> listener, Metadata headers) {
                    listener.onClose(Status.UNAVAILABLE.withDescription("failed by the test"), new Metadata());
                }

                @Override
                public void request(int messages) {}

                @Override
                public void cancel(String message, Throwable cause) {}

                @Override
                public void halfClose() {}

                @Override
                public void sendMessage(Q message) {}
            };
        }

        @Override
        public String authority() {
            return "failing";
        }
    }

    private static final class CountingListener implements EtcdClient.WatchListener {

        private final AtomicInteger closed = new AtomicInteger();

        @Override
        public void onEvents(List<Event> events) {}

        @Override
        public void onStarted(boolean missed) {}

        @Override
        public void onClosed() {
            closed.incrementAndGet();
        }
    }

    @Test
    void watchThatIsAddedWhileTheChannelFailsIsReportedAsClosed() {
        Channel failing = new FailingChannel();
        try (EtcdClient client = new GrpcEtcdClient(
                Endpoints.over(failing),
                Endpoints.over(failing),
                new AuthToken(null, null),
                Duration.ofSeconds(1),
                "a channel that fails")) {
            CountingListener listener = new CountingListener();
            client.watch(ByteString.copyFromUtf8("key"), false, 1, listener);
            assertThat(listener.closed).hasValue(1);
        }
    }
}
