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
 * The way to the servers: what the store needs of etcd, and no more. A stage fails with a {@link StoreException} only, and
 * within {@link #timeout()}. Nothing is repeated but the log-in. Thread-safe.
 */
public interface EtcdClient extends AutoCloseable {

    /**
     * One transaction.
     *
     * @param writes whether it may change something, so that a lost reply leaves that open
     */
    CompletionStage<TxnResponse> txn(TxnRequest request, boolean writes);

    /** Makes a lease. */
    CompletionStage<Granted> grant(long ttlSeconds);

    /** Renews a lease, through the leader. What is left of it, in seconds; 0 if there is no such lease. */
    CompletionStage<Long> keepAlive(long lease);

    /** The keys that live by a lease. */
    CompletionStage<List<ByteString>> keysOf(long lease);

    /** Ends a lease and all its keys. */
    CompletionStage<Void> revoke(long lease);

    /**
     * Watches a key, or all that begin with it, from a revision on. All watches share one stream.
     *
     * <p>The server is not asked for its history: a watch that begins in the past is served by a round that it makes every
     * 100 ms only (etcd's {@code syncWatchersLoop}). Whoever has seen an older revision hears that he
     * {@linkplain Ears#began missed} something.
     *
     * @param beginning whether all keys that begin so are meant
     */
    Watch watch(ByteString key, boolean beginning, long fromRevision, Ears ears);

    /** How long one call may take. */
    Duration timeout();

    /** Ends what is under way. Idempotent. */
    @Override
    void close();

    /** A lease. */
    record Granted(long lease, long ttlSeconds) {}

    /** Something that is watched; closing it is idempotent and waits for nothing. */
    interface Watch extends AutoCloseable {
        @Override
        void close();
    }

    /** Hears what happens to keys, in the order of revisions; called without locks and must not block. */
    interface Ears {

        void happened(List<Event> events);

        /**
         * The server watches from now on, and what happens is heard. At most once.
         *
         * @param missed whether there were revisions since the one that was asked for: what happened in them must be read
         */
        void began(boolean missed);

        /** Nothing more will come: the stream broke, or the server ended it. What has happened must be read. */
        void deaf();
    }
}
