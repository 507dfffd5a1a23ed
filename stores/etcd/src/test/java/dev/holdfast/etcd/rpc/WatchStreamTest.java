package dev.holdfast.etcd.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.etcd.jetcd.api.Event;
import io.etcd.jetcd.api.ResponseHeader;
import io.etcd.jetcd.api.WatchResponse;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Test;

/** What the answer to "up to which revision was everything reported" may be believed for, and that a watch ends with a notification. */
class WatchStreamTest {

    /** A server whose answers the test writes. */
    private static final class WrittenAnswers extends Channel {

        private final List<ClientCall.Listener<WatchResponse>> streams = new ArrayList<>();
        /** Calls fail while they are started, on the thread that starts them, as on a connection that has failed. */
        private boolean fails;

        @Override
        @SuppressWarnings("unchecked") // the only method that is called is the watch
        public <Q, A> ClientCall<Q, A> newCall(MethodDescriptor<Q, A> method, CallOptions options) {
            return new ClientCall<>() {
                @Override
                public void start(Listener<A> listener, Metadata headers) {
                    streams.add((Listener<WatchResponse>) listener);
                    if (fails) {
                        breakStream();
                    }
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
            return "written";
        }

        private void answer(WatchResponse.Builder response, long revision) {
            streams.get(streams.size() - 1)
                    .onMessage(response.setHeader(ResponseHeader.newBuilder().setRevision(revision))
                            .build());
        }

        private void created(long number) {
            answer(WatchResponse.newBuilder().setWatchId(number).setCreated(true), 1);
        }

        private void reportedUpTo(long revision) {
            answer(WatchResponse.newBuilder().setWatchId(-1), revision);
        }

        private void breakStream() {
            streams.get(streams.size() - 1).onClose(Status.UNAVAILABLE, new Metadata());
        }
    }

    private static class Watcher implements EtcdClient.WatchListener {

        private int closed;

        @Override
        public void onEvents(List<Event> events) {}

        @Override
        public void onStarted(boolean missed) {}

        @Override
        public void onClosed() {
            closed++;
        }
    }

    private final WrittenAnswers server = new WrittenAnswers();
    private final WatchStream stream =
            new WatchStream(Endpoints.over(server), new AuthToken(null, null), CallOptions.DEFAULT, 1);

    private void watch(String key, EtcdClient.WatchListener listener) {
        stream.add(ByteString.copyFromUtf8(key), false, 1, listener);
    }

    @Test
    void nextStreamIsNotAskedUntilAllWatchesOfTheLastOneAreClosed() {
        List<Watcher> watchers = new ArrayList<>();
        List<Boolean> believed = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            Watcher watcher = new Watcher() {
                @Override
                public void onClosed() {
                    super.onClosed();
                    watch("new", new Watcher());
                    server.created(1);
                    CompletableFuture<Long> answer = stream.reportedUpTo();
                    server.reportedUpTo(100);
                    if (watchers.stream().anyMatch(one -> one.closed == 0)) {
                        believed.add(answer.isDone() && !answer.isCompletedExceptionally());
                    }
                }
            };
            watchers.add(watcher);
            watch("key-" + i, watcher);
            server.created(i);
        }
        server.breakStream();
        assertThat(watchers).allMatch(watcher -> watcher.closed == 1);
        assertThat(believed).containsExactly(false);
        CompletableFuture<Long> answer = stream.reportedUpTo();
        server.reportedUpTo(101);
        assertThat(answer).isCompletedWithValue(101L);
    }

    @Test
    void watchThatIsAddedWhileTheChannelFailsIsReportedAsClosed() {
        server.fails = true;
        try (EtcdClient client = new GrpcEtcdClient(
                Endpoints.over(server),
                Endpoints.over(server),
                new AuthToken(null, null),
                Duration.ofSeconds(1),
                "a channel that fails")) {
            Watcher watcher = new Watcher();
            client.watch(ByteString.copyFromUtf8("key"), false, 1, watcher);
            assertThat(watcher.closed).isEqualTo(1);
        }
    }

    @Test
    void answerThatNeverComesDoesNotDelayTheNextOnes() {
        watch("key", new Watcher());
        server.created(0);
        stream.reportedUpTo().completeExceptionally(new TimeoutException());
        CompletableFuture<Long> next = stream.reportedUpTo();
        server.reportedUpTo(7);
        assertThat(next).isCompletedWithValue(7L);
    }
}
