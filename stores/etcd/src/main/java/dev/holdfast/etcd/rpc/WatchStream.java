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
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * All watches of a client, on one stream, and one for each key. The server gives each watch a number. It answers requests
 * in their order, so a number belongs to the first watch that has none yet.
 *
 * <p>When the stream ends, {@link EtcdClient.WatchListener#onClosed} is called for every watch on it, and the next
 * watch opens another stream. A stream keeps the token that it was opened with. If the server refuses a watch, that
 * token may be outdated, so the stream is ended and the next one logs in anew. Guarded by its own monitor; no listener
 * is called, and no call is started, while the monitor is held.
 */
final class WatchStream {

    /** The number in an answer that concerns all watches of the stream. */
    private static final long OF_THE_STREAM = -1;

    /** How many watches may be idle; the one that has been for longest is closed. */
    private static final int MAX_IDLE = 64;

    private final Endpoints endpoints;
    private final AuthToken authToken;
    private final CallOptions options;
    private final long logInNanos;
    private @Nullable Stream stream;
    /** The token of a stream on which a watch was refused. */
    private @Nullable String refusedToken;

    /** How many streams have ended whose watches were not all reported as closed yet. */
    private int ending;

    private boolean closed;

    /** @param logInNanos how long the log-in for a stream may take */
    WatchStream(Endpoints endpoints, AuthToken authToken, CallOptions options, long logInNanos) {
        this.endpoints = endpoints;
        this.authToken = authToken;
        this.options = options;
        this.logInNanos = logInNanos;
    }

    EtcdClient.Watch add(ByteString key, boolean isPrefix, long fromRevision, EtcdClient.WatchListener listener) {
        Stream opened = null;
        Stream on = null;
        SharedWatch.Interest interest = null;
        boolean isStarted = false;
        boolean missed = false;
        synchronized (this) {
            if (!closed) {
                on = stream;
                if (on == null) {
                    on = new Stream(endpoints.current(), refusedToken);
                    stream = on;
                    opened = on;
                }
                SharedWatch watch = on.watch(new SharedWatch.Keys(key, isPrefix));
                interest = watch.add(fromRevision, listener);
                isStarted = watch.number != null;
                missed = watch.hasMissed(interest);
            }
        }
        if (opened != null) {
            opened.open();
        }
        if (on == null || interest == null) {
            listener.onClosed();
            return () -> {};
        }
        if (isStarted) {
            listener.onStarted(missed);
        }
        Stream of = on;
        SharedWatch.Interest mine = interest;
        return () -> of.lose(new SharedWatch.Keys(key, isPrefix), mine);
    }

    /**
     * The revision up to which the server says that it has reported everything. Answers come in the order of requests, but
     * a server need not answer each one. What an answer says stays true, so it does not matter whose it is.
     *
     * <p>An answer says nothing about watches on an earlier stream. So there is none while one of these may still be taken for
     * a running one.
     */
    CompletableFuture<Long> reportedUpTo() {
        CompletableFuture<Long> answer = new CompletableFuture<>();
        synchronized (this) {
            Stream open = stream;
            if (open != null && ending == 0) {
                open.askers.add(answer);
                // Who does not wait any more must not get the answer to the next one.
                answer.whenComplete((revision, failure) -> open.dropAsker(answer));
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
        private final Deque<SharedWatch> unnumbered = new ArrayDeque<>();
        private final Map<Long, SharedWatch> numbered = new HashMap<>();
        private final Map<SharedWatch.Keys, SharedWatch> watches = new HashMap<>();
        /** The one that has been idle for longest is the first. */
        private final Set<SharedWatch> idle = new LinkedHashSet<>();

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

        /** The watch of these keys, or a new one. */
        private SharedWatch watch(SharedWatch.Keys keys) {
            SharedWatch known = watches.get(keys);
            if (known != null) {
                idle.remove(known);
                return known;
            }
            SharedWatch watch = new SharedWatch(keys);
            watches.put(keys, watch);
            unnumbered.add(watch);
            // From now on, see EtcdClient.watch.
            WatchCreateRequest.Builder request = WatchCreateRequest.newBuilder().setKey(keys.key());
            if (keys.isPrefix()) {
                request.setRangeEnd(LockKeys.endOf(keys.key()));
            }
            send(WatchRequest.newBuilder().setCreateRequest(request).build());
            return watch;
        }

        private void lose(SharedWatch.Keys keys, SharedWatch.Interest interest) {
            synchronized (WatchStream.this) {
                SharedWatch watch = watches.get(keys);
                interest.isClosed = true;
                if (watch == null || !watch.interests.remove(interest) || !watch.isIdle()) {
                    return;
                }
                idle.add(watch);
                if (watch.isWasted()) {
                    close(watch);
                } else if (idle.size() > MAX_IDLE) {
                    close(idle.iterator().next());
                }
            }
        }

        private void close(SharedWatch watch) {
            forget(watch);
            if (watch.number != null) {
                cancel(watch.number);
            }
        }

        private void forget(SharedWatch watch) {
            watch.isClosed = true;
            idle.remove(watch);
            watches.remove(watch.keys, watch);
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
            if (response.getCreated() && response.getCanceled()) {
                refused();
                return;
            }
            if (response.getWatchId() == OF_THE_STREAM) {
                reportedUpTo(response.getHeader().getRevision());
                return;
            }
            SharedWatch watch;
            List<SharedWatch.Interest> interests;
            synchronized (WatchStream.this) {
                watch = response.getCreated() ? unnumbered.poll() : numbered.get(response.getWatchId());
                if (watch == null) {
                    return;
                }
                interests = received(watch, response);
            }
            for (SharedWatch.Interest interest : interests) {
                if (!interest.isClosed) {
                    passOn(watch, interest, response);
                }
            }
        }

        /** Under the monitor: who is to be notified. */
        private List<SharedWatch.Interest> received(SharedWatch watch, WatchResponse response) {
            if (response.getCreated()) {
                watch.started(response.getWatchId(), response.getHeader().getRevision());
                numbered.put(response.getWatchId(), watch);
                if (watch.isClosed) {
                    cancel(response.getWatchId());
                }
            }
            watch.received(response.getEventsList());
            if (response.getCanceled()) {
                numbered.remove(response.getWatchId());
                forget(watch);
            } else if (watch.isWasted() && !watch.isClosed) {
                close(watch);
            }
            return List.copyOf(watch.interests);
        }

        private void passOn(SharedWatch watch, SharedWatch.Interest interest, WatchResponse response) {
            if (response.getCreated()) {
                boolean missed;
                synchronized (WatchStream.this) {
                    missed = watch.hasMissed(interest);
                }
                interest.listener.onStarted(missed);
            }
            List<Event> events = interest.notSeenBefore(response.getEventsList());
            if (!events.isEmpty()) {
                interest.listener.onEvents(events);
            }
            if (response.getCanceled()) {
                interest.listener.onClosed();
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

        private void dropAsker(CompletableFuture<Long> asker) {
            synchronized (WatchStream.this) {
                askers.removeIf(one -> one == asker);
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
            List<SharedWatch.Interest> remaining = new ArrayList<>();
            List<CompletableFuture<Long>> unanswered;
            StreamObserver<WatchRequest> open;
            synchronized (WatchStream.this) {
                if (ended) {
                    return;
                }
                ended = true;
                ending++;
                watches.values().forEach(watch -> remaining.addAll(watch.interests));
                watches.clear();
                unnumbered.clear();
                numbered.clear();
                idle.clear();
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
            try {
                for (SharedWatch.Interest interest : remaining) {
                    if (mayNotify && !interest.isClosed) {
                        interest.listener.onClosed();
                    }
                }
            } finally {
                synchronized (WatchStream.this) {
                    ending--;
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
}
