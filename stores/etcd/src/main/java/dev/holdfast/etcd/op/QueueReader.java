package dev.holdfast.etcd.op;

import com.google.protobuf.ByteString;
import dev.holdfast.etcd.queue.AdmissionQueue;
import dev.holdfast.etcd.queue.QueueEntry;
import dev.holdfast.etcd.rpc.EtcdClient;
import dev.holdfast.etcd.rpc.EtcdErrors;
import dev.holdfast.etcd.rpc.Txns;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.store.TimeLimit;
import io.etcd.jetcd.api.KeyValue;
import io.etcd.jetcd.api.RangeResponse;
import io.etcd.jetcd.api.RequestOp;
import io.etcd.jetcd.api.TxnRequest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Reads queues, in answers of bounded size. All claims of a client that ask for the same queue at the same time share
 * one read, so that many waiters of one name cost one read and not one each.
 */
public final class QueueReader {

    /** How many claims one page may have, until the size of the claims is known. It fits the smallest usual limit. */
    private static final int FIRST_PAGE = 200;

    /** The size that later pages aim at. A gRPC channel accepts answers of 4 MB unless it is configured otherwise. */
    private static final int PAGE_BYTES = 1 << 20;

    /** How many claims before its own a waiter reads at least; more are read if several waiters ask. */
    private static final int NEWEST = 24;

    private static final int NEWEST_FOR_EACH = 8;
    private static final int MOST_NEWEST = 256;

    /** How many answers may be waited for at most, one after the other, until a read has failed. */
    static final int MAX_CALLS = 2;

    private final EtcdClient client;
    private final TimeLimit timeLimit;
    private final Map<ByteString, Line> newest = new HashMap<>();
    private final Map<ByteString, Line> whole = new HashMap<>();

    /**
     * What was read.
     *
     * @param revision the revision at which the queue was like this
     */
    public record Seen(AdmissionQueue queue, long revision) {}

    public QueueReader(EtcdClient client) {
        this.client = client;
        this.timeLimit = new TimeLimit(client.timeout().multipliedBy(MAX_CALLS));
    }

    /** Reads all of a queue. */
    public CompletionStage<Seen> readAll(ByteString queue) {
        return ask(whole, queue, 0);
    }

    /**
     * Reads the first claim of a queue, which is the only holder if it is exclusive. The oldest key may belong to a longer
     * name of another program: then that says nothing about the queue, and all of it is read.
     */
    CompletionStage<Seen> readFirst(ByteString queue) {
        return range(Txns.oldest(queue)).thenCompose(answer -> {
            Seen first = seen(queue, answer);
            boolean isOfAnotherName =
                    answer.getKvsCount() > 0 && first.queue().entries().isEmpty();
            return isOfAnotherName ? readAll(queue) : CompletableFuture.completedStage(first);
        });
    }

    /** Reads the claims of a queue whose keys were created last, but not after a revision. */
    CompletionStage<Seen> readNewest(ByteString queue, long upTo, int most) {
        return range(Txns.newest(queue, upTo, most)).thenApply(answer -> seen(queue, answer));
    }

    /** Reads as much of a queue as is needed to be certain about the claim whose key was created at a revision. */
    public CompletionStage<Seen> readFor(ByteString queue, long created) {
        return ask(newest, queue, created).thenCompose(seen -> {
            List<QueueEntry> entries = seen.queue().entries();
            for (int i = entries.size() - 1; i >= 0; i--) {
                if (entries.get(i).created() == created && seen.queue().isCertain(i)) {
                    return CompletableFuture.completedStage(seen);
                }
            }
            return readAll(queue);
        });
    }

    /** The reads of one queue: the one that is under way, and the next one, for those who have asked meanwhile. */
    private static final class Line {

        private boolean reading;
        private @Nullable CompletableFuture<Seen> next;
        private long upTo;
        private int askers;
    }

    /** A read that is to be sent. */
    private record Due(CompletableFuture<Seen> result, long upTo, int askers) {}

    private CompletionStage<Seen> ask(Map<ByteString, Line> lines, ByteString queue, long created) {
        CompletableFuture<Seen> result;
        Due due = null;
        synchronized (this) {
            Line line = lines.computeIfAbsent(queue, unused -> new Line());
            if (line.next == null) {
                line.next = limited();
            }
            result = line.next;
            line.upTo = Math.max(line.upTo, created);
            line.askers++;
            if (!line.reading) {
                due = begin(line);
            }
        }
        if (due != null) {
            send(lines, queue, due);
        }
        return result;
    }

    private CompletableFuture<Seen> limited() {
        CompletableFuture<Seen> result = new CompletableFuture<>();
        TimeLimit.Call call = timeLimit.begin(() -> result.completeExceptionally(
                StoreException.unavailable(Effect.NONE, "The queue was not read in time", null)));
        result.whenComplete((seen, failure) -> call.end());
        return result;
    }

    private static @Nullable Due begin(Line line) {
        CompletableFuture<Seen> result = line.next;
        line.reading = result != null;
        if (result == null) {
            return null;
        }
        Due due = new Due(result, line.upTo, line.askers);
        line.next = null;
        line.upTo = 0;
        line.askers = 0;
        return due;
    }

    private void send(Map<ByteString, Line> lines, ByteString queue, Due due) {
        CompletionStage<Seen> read = lines == whole ? pages(queue, due.result()) : newest(queue, due);
        read.whenComplete((seen, failure) -> {
            Due following;
            synchronized (this) {
                Line line = lines.get(queue);
                following = line == null ? null : begin(line);
                if (following == null) {
                    lines.remove(queue);
                }
            }
            if (following != null) {
                send(lines, queue, following);
            }
            if (failure != null) {
                due.result().completeExceptionally(failure);
            } else {
                due.result().complete(seen);
            }
        });
    }

    private CompletionStage<Seen> newest(ByteString queue, Due due) {
        int limit = Math.min(MOST_NEWEST, NEWEST + NEWEST_FOR_EACH * due.askers());
        return readNewest(queue, due.upTo(), limit);
    }

    /** Reads all pages, and begins anew if their revision is compacted meanwhile. */
    private CompletionStage<Seen> pages(ByteString queue, CompletableFuture<Seen> result) {
        return page(queue, queue, FIRST_PAGE, 0, new ArrayList<>(), result).exceptionallyCompose(failure -> {
            StoreException cause = EtcdErrors.of(failure, false, client.toString());
            return EtcdErrors.isCompacted(cause) && !result.isDone()
                    ? pages(queue, result)
                    : CompletableFuture.failedStage(cause);
        });
    }

    /** Reads a page and those after it. All pages are of one revision, so together they are the queue as it was. */
    private CompletionStage<Seen> page(
            ByteString queue,
            ByteString from,
            int limit,
            long revision,
            List<KeyValue> read,
            CompletableFuture<Seen> result) {
        return range(Txns.page(queue, from, limit, revision)).thenCompose(answer -> {
            long at = revision == 0 ? answer.getHeader().getRevision() : revision;
            read.addAll(answer.getKvsList());
            if (!answer.getMore() || result.isDone()) {
                return CompletableFuture.completedStage(new Seen(AdmissionQueue.of(queue, read, true), at));
            }
            int bytesOfOne = 1 + answer.getSerializedSize() / answer.getKvsCount();
            ByteString next = read.get(read.size() - 1).getKey().concat(ByteString.copyFrom(new byte[1]));
            return page(queue, next, Math.max(1, PAGE_BYTES / bytesOfOne), at, read, result);
        });
    }

    private CompletionStage<RangeResponse> range(RequestOp range) {
        return client.txn(TxnRequest.newBuilder().addSuccess(range).build(), false)
                .thenApply(answer -> answer.getResponses(0).getResponseRange().toBuilder()
                        .setHeader(answer.getHeader())
                        .build());
    }

    private static Seen seen(ByteString queue, RangeResponse answer) {
        return new Seen(
                AdmissionQueue.of(queue, answer.getKvsList(), !answer.getMore()),
                answer.getHeader().getRevision());
    }
}
