package dev.holdfast.etcd.op;

import dev.holdfast.etcd.rpc.EtcdClient;
import dev.holdfast.etcd.rpc.Txns;
import dev.holdfast.etcd.session.ClaimState;
import dev.holdfast.etcd.session.ClaimTable;
import dev.holdfast.etcd.session.Session;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LossListener;
import dev.holdfast.spi.Renewed.Reason;
import io.etcd.jetcd.api.Event;
import io.etcd.jetcd.api.KeyValue;
import io.etcd.jetcd.api.TxnRequest;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Watches the key of each claim that holds, from its first renewal on, and reports when it is gone. A claim that is
 * released sooner, as most are, is not watched, and costs nothing. One that was granted by an event keeps the watch that it
 * had as a waiter. A watch that was closed is made again with the next renewal, which looks for the key itself.
 *
 * <p>A watch <em>covers</em> its key if no deletion after the first renewal can have escaped it: the server has started it,
 * and either nothing was written since the renewal saw the key, or the key was read again after the start and was the
 * same. So a key that is deleted before the watch begins, or deleted and put again, is found by that read. A watch that
 * has ended covers nothing, and neither does one whose read has failed.
 */
final class HolderWatch {

    private final EtcdClient client;
    private final Session session;
    private final ClaimTable claimTable;
    private final HolderLoss holderLoss;
    private final LossListener losses;

    HolderWatch(EtcdClient client, Session session, ClaimTable claimTable, HolderLoss holderLoss, LossListener losses) {
        this.client = client;
        this.session = session;
        this.claimTable = claimTable;
        this.holderLoss = holderLoss;
        this.losses = losses;
    }

    /** A renewal has found the claim's key at this revision. */
    void renewed(ClaimState state, long revision) {
        claimTable.change(then -> {
            if (holds(state) && state.ownWatch == null) {
                KeyWatch watch = new HeldKeyWatch(state);
                state.ownWatch = watch;
                then.add(() -> watch.begin(client, revision + 1));
            }
        });
    }

    /** Under the mutex: whether a deletion of the holder's key cannot escape its watch. */
    boolean covers(ClaimState state) {
        // The end of a key that is being released is not reported.
        return holds(state)
                && !state.releasing
                && state.ownWatch instanceof KeyWatch watch
                && watch.created == state.created
                && watch.covers();
    }

    private boolean holds(ClaimState state) {
        return claimTable.has(state) && state.phase == ClaimState.Phase.HELD;
    }

    private final class HeldKeyWatch extends KeyWatch {

        /** Guarded by the mutex of the table. */
        private boolean covers;

        private HeldKeyWatch(ClaimState state) {
            super(state);
        }

        @Override
        boolean covers() {
            return covers;
        }

        @Override
        public void onEvents(List<Event> events) {
            if (isEnded(events)) {
                lost(state, created);
            }
        }

        @Override
        public void onStarted(boolean missed) {
            if (!missed) {
                claimTable.change(then -> covers = true);
                return;
            }
            TxnRequest read =
                    TxnRequest.newBuilder().addSuccess(Txns.getKey(state.key)).build();
            client.txn(read, false).whenComplete((answer, failure) -> {
                if (answer == null) {
                    close();
                    onClosed();
                    return;
                }
                List<KeyValue> found = answer.getResponses(0).getResponseRange().getKvsList();
                if (found.isEmpty() || found.get(0).getCreateRevision() != created) {
                    lost(state, created);
                } else {
                    claimTable.change(then -> covers = true);
                }
            });
        }

        @Override
        public void onClosed() {
            claimTable.change(then -> state.ownWatch = state.ownWatch == this ? null : state.ownWatch);
        }
    }

    /** The key of a claim that holds has ended. */
    void lost(ClaimState state, long created) {
        CompletableFuture<Reason> loss = state.releasing ? null : holderLoss.begin(state, created);
        if (loss == null) {
            return;
        }
        session.renew().handle((life, failure) -> lives(state, life)).thenAccept(lives -> {
            Claim claim = state.claim;
            Reason reason = HolderLoss.ofKey(lives);
            // First of all the engine: after that, no renewal asks for a claim that is not in the table.
            losses.lost(claim.name(), claim.id(), reason);
            holderLoss.end(state, loss, reason);
        });
    }

    // If the servers cannot be asked, the lease is as alive as it is by the clock of this client.
    private boolean lives(ClaimState state, Session.@Nullable Life renewed) {
        Session.Life life = renewed == null ? session.life() : renewed;
        return life != null && life.lease() == state.session;
    }
}
