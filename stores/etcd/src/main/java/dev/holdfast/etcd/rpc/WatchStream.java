package dev.holdfast.etcd.rpc;

import com.google.protobuf.ByteString;
import dev.holdfast.etcd.queue.LockKeys;
import io.etcd.jetcd.api.Event;
import io.etcd.jetcd.api.WatchCancelRequest;
import io.etcd.jetcd.api.WatchCreateRequest;
import io.etcd.jetcd.api.WatchGrpc;
import io.etcd.jetcd.api.WatchRequest;
import io.etcd.jetcd.api.WatchResponse;
import io.grpc.CallOptions;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * All watches of a client, on one stream. The server numbers them; it answers requests in their order, so the first that is
 * not numbered yet is the one that a number is for.
 *
 * <p>When the stream ends, everybody on it is told that he is {@linkplain EtcdClient.Ears#deaf deaf}, and the next watch opens
 * another. Guarded by its own monitor; nobody is told anything under it.
 */
final class WatchStream {

    private final Endpoints endpoints;
    private final AuthToken login;
    private final CallOptions options;
    private @Nullable Stream stream;
    private boolean closed;

    WatchStream(Endpoints endpoints, AuthToken login, CallOptions options) {
        this.endpoints = endpoints;
        this.login = login;
        this.options = options;
    }

    EtcdClient.Watch add(ByteString key, boolean beginning, long fromRevision, EtcdClient.Ears ears) {
        WatchCreateRequest.Builder request =
                WatchCreateRequest.newBuilder().setKey(key); // from now on, see EtcdClient.watch
        if (beginning) {
            request.setRangeEnd(LockKeys.endOf(key));
        }
        synchronized (this) {
            if (!closed) {
                Stream open = stream;
                if (open == null) {
                    open = new Stream(endpoints.current());
                    stream = open;
                    open.start();
                }
                return open.add(request, fromRevision, ears);
            }
        }
        ears.deaf();
        return () -> {};
    }

    /** A server was left: its watches say nothing any more, or nothing that can be relied on. */
    void left(int endpoint) {
        Stream open;
        synchronized (this) {
            open = stream;
        }
        if (open != null && open.endpoint == endpoint) {
            open.end();
        }
    }

    void close() {
        Stream open;
        synchronized (this) {
            closed = true;
            open = stream;
            stream = null;
        }
        if (open != null) {
            open.end();
        }
    }

    private final class Stream implements StreamObserver<WatchResponse> {

        private final int endpoint;
        private final Deque<One> unnumbered = new ArrayDeque<>();
        private final Map<Long, One> numbered = new HashMap<>();
        private @Nullable StreamObserver<WatchRequest> requests;
        private boolean over;

        private Stream(int endpoint) {
            this.endpoint = endpoint;
        }

        private void start() {
            requests = ClientCalls.asyncBidiStreamingCall(
                    AuthToken.dressed(endpoints.channel(endpoint), login.token())
                            .newCall(WatchGrpc.getWatchMethod(), options),
                    this);
        }

        private One add(WatchCreateRequest.Builder request, long fromRevision, EtcdClient.Ears ears) {
            One one = new One(this, fromRevision, ears);
            unnumbered.add(one);
            send(WatchRequest.newBuilder().setCreateRequest(request).build());
            return one;
        }

        private void send(WatchRequest request) {
            StreamObserver<WatchRequest> open = requests;
            if (open != null && !over) {
                open.onNext(request);
            }
        }

        private void cancel(long number) {
            numbered.remove(number);
            send(WatchRequest.newBuilder()
                    .setCancelRequest(WatchCancelRequest.newBuilder().setWatchId(number))
                    .build());
        }

        @Override
        public void onNext(WatchResponse response) {
            One one;
            boolean deaf = false;
            boolean began = false;
            synchronized (WatchStream.this) {
                if (response.getCreated()) {
                    one = unnumbered.poll();
                    if (one != null && !response.getCanceled()) {
                        one.number = response.getWatchId();
                        numbered.put(response.getWatchId(), one);
                        began = true;
                        if (one.closed) {
                            cancel(response.getWatchId());
                        }
                    }
                } else {
                    one = numbered.get(response.getWatchId());
                }
                if (response.getCanceled()) {
                    numbered.remove(response.getWatchId());
                    deaf = true;
                }
            }
            if (one != null && !one.closed) {
                if (began) {
                    one.ears.began(response.getHeader().getRevision() >= one.fromRevision);
                }
                List<Event> events = one.unheard(response.getEventsList());
                if (!events.isEmpty()) {
                    one.ears.happened(events);
                }
                if (deaf) {
                    one.ears.deaf();
                }
            }
        }

        @Override
        public void onError(Throwable failure) {
            endpoints.leave(endpoint);
            end();
        }

        @Override
        public void onCompleted() {
            end();
        }

        private void end() {
            List<One> left = new ArrayList<>();
            StreamObserver<WatchRequest> open;
            synchronized (WatchStream.this) {
                if (over) {
                    return;
                }
                over = true;
                left.addAll(unnumbered);
                left.addAll(numbered.values());
                unnumbered.clear();
                numbered.clear();
                open = requests;
                stream = stream == this ? null : stream;
            }
            if (open != null) {
                try {
                    open.onCompleted();
                } catch (IllegalStateException overAlready) {
                    // The stream has ended from the other side.
                    over = true;
                }
            }
            boolean tell;
            synchronized (WatchStream.this) {
                tell = !closed;
            }
            for (One one : left) {
                if (tell && !one.closed) {
                    one.ears.deaf();
                }
            }
        }
    }

    /** One watch. */
    private final class One implements EtcdClient.Watch {

        private final Stream on;
        private final long fromRevision;
        private final EtcdClient.Ears ears;
        private @Nullable Long number;
        private volatile boolean closed;

        private One(Stream on, long fromRevision, EtcdClient.Ears ears) {
            this.on = on;
            this.fromRevision = fromRevision;
            this.ears = ears;
        }

        // A server that lags behind begins with what has been seen elsewhere.
        private List<Event> unheard(List<Event> events) {
            return events.stream()
                    .filter(event -> event.getKv().getModRevision() >= fromRevision)
                    .toList();
        }

        @Override
        public void close() {
            synchronized (WatchStream.this) {
                if (closed) {
                    return;
                }
                closed = true;
                Long known = number;
                if (known != null && on.numbered.containsKey(known)) {
                    on.cancel(known);
                }
            }
        }
    }
}
