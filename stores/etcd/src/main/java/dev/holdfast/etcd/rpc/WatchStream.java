package dev.holdfast.etcd.rpc;

import com.google.protobuf.ByteString;
import dev.holdfast.etcd.queue.LockKeys;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import io.etcd.jetcd.api.Event;
import io.etcd.jetcd.api.WatchCancelRequest;
import io.etcd.jetcd.api.WatchCreateRequest;
import io.etcd.jetcd.api.WatchGrpc;
import io.etcd.jetcd.api.WatchProgressRequest;
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
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * All watches of a client, on one stream. The server gives each watch a number. It answers requests in their order,
 * so a number belongs to the first watch that has none yet.
 *
 * <p>When the stream ends, {@link EtcdClient.WatchListener#onClosed} is called for every watch on it, and the next
 * watch opens another stream. A stream keeps the token that it was opened with. If the server refuses a watch, that
 * token may be outdated, so the stream is ended and the next one logs in anew. Guarded by its own monitor; no listener
 * is called, and no call is started, while the monitor is held.
 */
final class WatchStream {

    /** The number in an answer that concerns all watches of the stream. */
    private static final long OF_THE_STREAM = -1;

    private final Endpoints endpoints;
    private final AuthToken authToken;
    private final CallOptions options;
    private final long logInNanos;
    private @Nullable Stream stream;
    /** The token of a stream on which a watch was refused. */
    private @Nullable String refusedToken;

    private boolean closed;

    /** @param logInNanos how long the log-in for a stream may take */
    WatchStream(Endpoints endpoints, AuthToken authToken, CallOptions options, long logInNanos) {
        this.endpoints = endpoints;
        this.authToken = authToken;
        this.options = options;
        this.logInNanos = logInNanos;
    }

    EtcdClient.Watch add(ByteString key, boolean isPrefix, long fromRevision, EtcdClient.WatchListener listener) {
        WatchCreateRequest.Builder request =
                WatchCreateRequest.newBuilder().setKey(key); // from now on, see EtcdClient.watch
        if (isPrefix) {
            request.setRangeEnd(LockKeys.endOf(key));
        }
        Stream opened = null;
        StreamWatch watch = null;
        synchronized (this) {
            if (!closed) {
                Stream open = stream;
                if (open == null) {
                    open = new Stream(endpoints.current(), refusedToken);
                    stream = open;
                    opened = open;
                }
                watch = open.add(request, fromRevision, listener);
            }
        }
        if (opened != null) {
            opened.open();
        }
        if (watch == null) {
            listener.onClosed();
            return () -> {};
        }
        return watch;
    }

    /**
     * The revision up to which the server says that it has reported everything. Answers come in the order of requests, but
     * a server need not answer each one. What an answer says stays true, so it does not matter whose it is.
     */
    CompletableFuture<Long> reportedUpTo() {
        CompletableFuture<Long> answer = new CompletableFuture<>();
        synchronized (this) {
            Stream open = stream;
            if (open != null) {
                open.askers.add(answer);
                open.send(WatchRequest.newBuilder()
                        .setProgressRequest(WatchProgressRequest.getDefaultInstance())
                        .build());
                return answer;
            }
        }
        answer.completeExceptionally(noStream());
        return answer;
    }

    private static StoreException noStream() {
        return StoreException.unavailable(Effect.NONE, "The stream of the watches has ended", null);
    }

    /**
     * A server is no longer used. Ends its stream: the watches on it report nothing any more, or nothing reliable.
     */
    void onEndpointLeft(int endpoint) {
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
        private final @Nullable String refused;
        private final Deque<StreamWatch> unnumbered = new ArrayDeque<>();
        private final Map<Long, StreamWatch> numbered = new HashMap<>();
        private final Deque<CompletableFuture<Long>> askers = new ArrayDeque<>();
        /** Requests that were made before the call was started. */
        private final List<WatchRequest> unsent = new ArrayList<>();

        private @Nullable String token;
        private @Nullable StreamObserver<WatchRequest> requests;
        private boolean ended;

        private Stream(int endpoint, @Nullable String refused) {
            this.endpoint = endpoint;
            this.refused = refused;
        }

        /** Starts the call, with another token than the refused one. The stream may end before this returns. */
        private void open() {
            if (!authToken.isNeeded()) {
                start(null);
                return;
            }
            authToken
                    .renew(endpoints.channel(endpoint), options, refused, logInNanos)
                    .whenComplete((known, failure) -> {
                        if (failure == null) {
                            start(known);
                        } else {
                            onError(failure);
                        }
                    });
        }

        private void start(@Nullable String known) {
            synchronized (WatchStream.this) {
                if (ended) {
                    return;
                }
                token = known;
            }
            StreamObserver<WatchRequest> open = ClientCalls.asyncBidiStreamingCall(
                    AuthToken.withHeaders(endpoints.channel(endpoint), known)
                            .newCall(WatchGrpc.getWatchMethod(), options),
                    this);
            boolean late;
            synchronized (WatchStream.this) {
                late = ended;
                if (!late) {
                    requests = open;
                    unsent.forEach(open::onNext);
                    unsent.clear();
                }
            }
            if (late) {
                complete(open);
            }
        }

        private StreamWatch add(
                WatchCreateRequest.Builder request, long fromRevision, EtcdClient.WatchListener listener) {
            StreamWatch watch = new StreamWatch(this, fromRevision, listener);
            unnumbered.add(watch);
            send(WatchRequest.newBuilder().setCreateRequest(request).build());
            return watch;
        }

        private void send(WatchRequest request) {
            StreamObserver<WatchRequest> open = requests;
            if (open == null) {
                unsent.add(request);
            } else if (!ended) {
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
            StreamWatch watch;
            boolean canceled = false;
            boolean started = false;
            if (response.getCreated() && response.getCanceled()) {
                refused();
                return;
            }
            if (response.getWatchId() == OF_THE_STREAM) {
                reportedUpTo(response.getHeader().getRevision());
                return;
            }
            synchronized (WatchStream.this) {
                if (response.getCreated()) {
                    watch = unnumbered.poll();
                    if (watch != null) {
                        watch.number = response.getWatchId();
                        numbered.put(response.getWatchId(), watch);
                        started = true;
                        if (watch.closed) {
                            cancel(response.getWatchId());
                        }
                    }
                } else {
                    watch = numbered.get(response.getWatchId());
                }
                if (response.getCanceled()) {
                    numbered.remove(response.getWatchId());
                    canceled = true;
                }
            }
            if (watch != null && !watch.closed) {
                if (started) {
                    watch.listener.onStarted(response.getHeader().getRevision() >= watch.fromRevision);
                }
                List<Event> events = watch.notSeenBefore(response.getEventsList());
                if (!events.isEmpty()) {
                    watch.listener.onEvents(events);
                }
                if (canceled) {
                    watch.listener.onClosed();
                }
            }
        }

        private void reportedUpTo(long revision) {
            CompletableFuture<Long> asker;
            synchronized (WatchStream.this) {
                asker = askers.poll();
            }
            if (asker != null) {
                asker.complete(revision);
            }
        }

        // The number in such an answer is not that of the watch; it may even be that of another one.
        private void refused() {
            synchronized (WatchStream.this) {
                refusedToken = token;
            }
            end();
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
            List<StreamWatch> remaining = new ArrayList<>();
            List<CompletableFuture<Long>> unanswered;
            StreamObserver<WatchRequest> open;
            synchronized (WatchStream.this) {
                if (ended) {
                    return;
                }
                ended = true;
                remaining.addAll(unnumbered);
                remaining.addAll(numbered.values());
                unnumbered.clear();
                numbered.clear();
                unanswered = List.copyOf(askers);
                askers.clear();
                open = requests;
                stream = stream == this ? null : stream;
            }
            if (open != null) {
                complete(open);
            }
            boolean mayNotify;
            synchronized (WatchStream.this) {
                mayNotify = !closed;
            }
            for (StreamWatch watch : remaining) {
                if (mayNotify && !watch.closed) {
                    watch.listener.onClosed();
                }
            }
            unanswered.forEach(asker -> asker.completeExceptionally(noStream()));
        }
    }

    private static void complete(StreamObserver<WatchRequest> open) {
        try {
            open.onCompleted();
        } catch (IllegalStateException alreadyEnded) {
            // The server has ended the stream already, which is all that this was for.
            return;
        }
    }

    /** One watch of a stream. */
    private final class StreamWatch implements EtcdClient.Watch {

        private final Stream on;
        private final long fromRevision;
        private final EtcdClient.WatchListener listener;
        private @Nullable Long number;
        private volatile boolean closed;

        private StreamWatch(Stream on, long fromRevision, EtcdClient.WatchListener listener) {
            this.on = on;
            this.fromRevision = fromRevision;
            this.listener = listener;
        }

        // A server that lags behind starts with events that were already seen on another server.
        private List<Event> notSeenBefore(List<Event> events) {
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
