package dev.holdfast.etcd.rpc;

import com.google.protobuf.ByteString;
import dev.holdfast.spi.StoreException;
import io.etcd.jetcd.api.Event;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;

/**
 * The requests that the store sends to etcd. A stage fails only with a {@link StoreException}, and within
 * {@link #timeout()}. A request is repeated only after a new log-in. Thread-safe.
 */
public interface EtcdClient extends AutoCloseable {

    /**
     * Runs one transaction.
     *
     * @param writes whether it may change something, so that a lost reply leaves its effect unknown
     */
    CompletionStage<TxnResponse> txn(TxnRequest request, boolean writes);

    /** Creates a lease. */
    CompletionStage<LeaseGranted> grant(long ttlSeconds);

    /** Renews a lease, through the leader. Returns its remaining time in seconds; 0 if there is no such lease. */
    CompletionStage<Long> keepAlive(long lease);

    /** The keys that are attached to a lease. */
    CompletionStage<List<ByteString>> keysOf(long lease);

    /** Ends a lease and deletes all its keys. */
    CompletionStage<Void> revoke(long lease);

    /**
     * Watches a key, or all keys with a prefix, from a revision on. All watches share one stream.
     *
     * <p>The server is not asked for its history: it serves a watch that begins in the past only in a round that it
     * makes every 100 ms (etcd's {@code syncWatchersLoop}). Instead, {@link WatchListener#onStarted} reports
     * whether something was missed.
     *
     * @param isPrefix whether {@code key} is a prefix, and all keys that begin with it are watched
     */
    Watch watch(ByteString key, boolean isPrefix, long fromRevision, WatchListener listener);

    /**
     * Asks the server of the watches, on their stream, up to which revision it has reported what they watch. Events that
     * were reported before are delivered before the answer. Fails if there is no stream, or if it ends; the server may
     * also not answer while it lags behind.
     */
    CompletionStage<Long> watchedUpTo();

    /** The longest time that one call may take. */
    Duration timeout();

    /** Ends all calls and watches. Idempotent. */
    @Override
    void close();

    /** A lease that was created. */
    record LeaseGranted(long lease, long ttlSeconds) {}

    /** A running watch. Closing it is idempotent and does not wait. */
    interface Watch extends AutoCloseable {
        @Override
        void close();
    }

    /**
     * Receives the events of the watched keys in the order of revisions. That is the order within one watch: of two watches on
     * different keys, one may report a later revision before the other reports an earlier one. Its methods are called without
     * locks and must not block.
     */
    interface WatchListener {

        /** Watched keys were written or deleted. */
        void onEvents(List<Event> events);

        /**
         * The server has started the watch, and later events are reported. Called at most once.
         *
         * @param missed whether there were revisions since the requested one; what changed in them must be read
         */
        void onStarted(boolean missed);

        /**
         * No more events will come: the stream broke, or the server ended the watch. What has changed must be read.
         */
        void onClosed();
    }
}
