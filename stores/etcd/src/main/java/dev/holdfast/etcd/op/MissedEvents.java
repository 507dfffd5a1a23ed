package dev.holdfast.etcd.op;

import dev.holdfast.etcd.queue.AdmissionQueue;
import dev.holdfast.etcd.queue.QueueEntry;
import dev.holdfast.etcd.rpc.EtcdClient;
import dev.holdfast.etcd.rpc.Txns;
import dev.holdfast.etcd.session.ClaimState;
import dev.holdfast.etcd.session.ClaimTable;
import io.etcd.jetcd.api.RangeResponse;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Looks whether waiters have missed an event when their watches began. While others write to the servers, nearly each watch
 * may have missed something, and nearly none has: so the two keys are read that the waiter watches, and only if one of
 * them has changed, the queue. Waiters that ask while a read is under way share the next one.
 */
final class MissedEvents {

    /** How many waiters are looked at in one transaction; a server accepts 128 operations in it. */
    private static final int AT_ONCE = 60;

    private final EtcdClient client;
    private final ClaimTable claimTable;
    private final Consumer<ClaimState> readQueue;
    private final List<ClaimState> asking = new ArrayList<>();
    private boolean isReading;

    /** @param readQueue is called with each waiter that has missed something, or may have */
    MissedEvents(EtcdClient client, ClaimTable claimTable, Consumer<ClaimState> readQueue) {
        this.client = client;
        this.claimTable = claimTable;
        this.readQueue = readQueue;
    }

    /**
     * A waiter, and what it has seen of the claims that it watches.
     *
     * @param ownStart the number of the watch on its own key that had started before the key is read, or 0
     */
    private record Watched(ClaimState state, QueueEntry own, QueueEntry blocker, int ownStart) {}

    void look(ClaimState state) {
        synchronized (this) {
            asking.add(state);
            if (isReading) {
                return;
            }
            isReading = true;
        }
        next();
    }

    private void next() {
        List<ClaimState> part;
        synchronized (this) {
            List<ClaimState> first = asking.subList(0, Math.min(AT_ONCE, asking.size()));
            part = List.copyOf(first);
            first.clear();
            isReading = !part.isEmpty();
        }
        if (part.isEmpty()) {
            return;
        }
        List<ClaimState> unclear = new ArrayList<>();
        List<Watched> watched = new ArrayList<>();
        claimTable.change(then -> part.forEach(state -> {
            Watched both = watched(state);
            if (both != null) {
                watched.add(both);
            } else {
                unclear.add(state);
            }
        }));
        unclear.forEach(readQueue);
        if (watched.isEmpty()) {
            next();
            return;
        }
        client.txn(request(watched), false).whenComplete((answer, failure) -> {
            for (int i = 0; i < watched.size(); i++) {
                Watched both = watched.get(i);
                if (answer == null || hasChanged(both, answer, i)) {
                    readQueue.accept(both.state());
                } else if (both.ownStart() != 0) {
                    // Unless that watch was closed since: a later one does not know what has come between the two.
                    claimTable.change(then -> both.state().ownIsSure |= both.state().ownStart == both.ownStart());
                }
            }
            next();
        });
    }

    private static @Nullable Watched watched(ClaimState state) {
        AdmissionQueue queue = state.seen;
        int index = queue == null ? -1 : queue.indexOf(state.claim.id());
        if (queue == null || index < 0) {
            return null;
        }
        AdmissionQueue.Blocker blocker = state.blocker;
        QueueEntry own = queue.entries().get(index);
        QueueEntry before = blocker == null || blocker.key() == null ? null : queue.entry(blocker.key());
        return before == null ? null : new Watched(state, own, before, state.ownStart);
    }

    private static TxnRequest request(List<Watched> watched) {
        TxnRequest.Builder request = TxnRequest.newBuilder();
        watched.forEach(both -> request.addSuccess(Txns.getKey(both.own().key()))
                .addSuccess(Txns.getKey(both.blocker().key())));
        return request.build();
    }

    private static boolean hasChanged(Watched both, TxnResponse answer, int i) {
        return hasChanged(both.own(), answer.getResponses(2 * i).getResponseRange())
                || hasChanged(both.blocker(), answer.getResponses(2 * i + 1).getResponseRange());
    }

    private static boolean hasChanged(QueueEntry seen, RangeResponse now) {
        return now.getCount() == 0 || !seen.isStill(now.getKvs(0));
    }
}
