package dev.holdfast.etcd.op;

import com.google.protobuf.ByteString;
import dev.holdfast.etcd.op.QueueReader.Seen;
import dev.holdfast.etcd.session.ClaimState;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Claims that have joined a long queue and do not know yet what to watch. They are in no hurry, because many claims are
 * before them, so those which join the same queue within a short time share one read of its end. To a server, that read costs
 * as much as the queue is long: without the delay, joining would cost the square of the number of waiters.
 */
final class FarWaiters {

    /**
     * The delay, for each claim of the queue. It is shorter than a hand-off, which is a write to the majority's disks. So a
     * claim knows what to watch before its turn comes, and reading takes a small part of a server's time.
     */
    private static final long NANOS_FOR_EACH = 100_000;

    private static final long MAX_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** How many claims before the oldest waiter are read at least: those which show that it waits. */
    private static final int BEFORE = 32;

    private final QueueReader reader;
    private final BiConsumer<ClaimState, @Nullable Seen> whenSeen;
    private final Map<ByteString, Group> groups = new HashMap<>();

    /** @param whenSeen receives each claim with the end of its queue, or null if that could not be read */
    FarWaiters(QueueReader reader, BiConsumer<ClaimState, @Nullable Seen> whenSeen) {
        this.reader = reader;
        this.whenSeen = whenSeen;
    }

    /** Those that share a read. */
    private static final class Group {

        private final List<ClaimState> waiters = new ArrayList<>();
        private final long firstLength;
        private long lastLength;
        private long upTo;

        private Group(long length) {
            this.firstLength = length;
        }

        /** How many claims to read: those from the oldest waiter on, if not too many have left the queue meanwhile. */
        private int limit() {
            return (int) (BEFORE + 2 * Math.max(waiters.size(), lastLength - firstLength));
        }
    }

    /**
     * Adds a claim.
     *
     * @param created the create revision of its key
     * @param length how many claims the queue had then
     */
    void add(ClaimState state, long created, long length) {
        ByteString queue = state.queue;
        boolean isFirst;
        synchronized (this) {
            isFirst = !groups.containsKey(queue);
            Group group = groups.computeIfAbsent(queue, unused -> new Group(length));
            group.waiters.add(state);
            group.lastLength = Math.max(group.lastLength, length);
            group.upTo = Math.max(group.upTo, created);
        }
        if (isFirst) {
            CompletableFuture.delayedExecutor(
                            Math.min(MAX_NANOS, length * NANOS_FOR_EACH), TimeUnit.NANOSECONDS, Runnable::run)
                    .execute(() -> read(queue));
        }
    }

    private void read(ByteString queue) {
        Group group;
        synchronized (this) {
            group = groups.remove(queue);
        }
        if (group != null) {
            reader.readNewest(queue, group.upTo, group.limit())
                    .whenComplete((seen, failure) -> group.waiters.forEach(state -> whenSeen.accept(state, seen)));
        }
    }
}
