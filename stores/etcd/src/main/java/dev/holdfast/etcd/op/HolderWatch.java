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
import org.jspecify.annotations.Nullable;

/**
 * Watches the key of each claim that holds, from its first renewal on, and reports when it is gone. A claim that is
 * released sooner, as most are, is not watched, and costs nothing. A watch that was closed is made again with the next
 * renewal, which looks for the key itself.
 */
public final class HolderWatch {

    private final EtcdClient client;
    private final Session session;
    private final ClaimTable claimTable;
    private final LossListener losses;

    public HolderWatch(EtcdClient client, Session session, ClaimTable claimTable, LossListener losses) {
        this.client = client;
        this.session = session;
        this.claimTable = claimTable;
        this.losses = losses;
    }

    /** A renewal has found the claim's key at this revision. */
    void renewed(ClaimState state, long revision) {
        claimTable.change(then -> {
            if (holds(state) && state.ownWatch == null) {
                KeyWatch watch = new KeyWatch(state);
                state.ownWatch = watch;
                then.add(() -> watch.begin(revision + 1));
            }
        });
    }

    private boolean holds(ClaimState state) {
        return claimTable.has(state) && state.phase == ClaimState.Phase.HELD;
    }

    private final class KeyWatch implements EtcdClient.WatchListener, EtcdClient.Watch {

        private final ClaimState state;
        private final long created;
        private EtcdClient.@Nullable Watch running;
        private boolean closed;

        private KeyWatch(ClaimState state) {
            this.state = state;
            this.created = state.created;
        }

        private void begin(long fromRevision) {
            EtcdClient.Watch begun = client.watch(state.key, false, fromRevision, this);
            synchronized (this) {
                if (!closed) {
                    running = begun;
                    return;
                }
            }
            begun.close();
        }

        @Override
        public void close() {
            EtcdClient.Watch open;
            synchronized (this) {
                closed = true;
                open = running;
            }
            if (open != null) {
                open.close();
            }
        }

        @Override
        public void onEvents(List<Event> events) {
            boolean gone = events.stream()
                    .anyMatch(event -> event.getType() == Event.EventType.DELETE
                            || event.getKv().getCreateRevision() > created);
            if (gone) {
                lost();
            }
        }

        @Override
        public void onStarted(boolean missed) {
            if (!missed) {
                return;
            }
            TxnRequest read =
                    TxnRequest.newBuilder().addSuccess(Txns.getKey(state.key)).build();
            // If this fails, the next renewal finds what was missed.
            client.txn(read, false).thenAccept(answer -> {
                List<KeyValue> found = answer.getResponses(0).getResponseRange().getKvsList();
                if (found.isEmpty() || found.get(0).getCreateRevision() != created) {
                    lost();
                }
            });
        }

        @Override
        public void onClosed() {
            claimTable.change(then -> state.ownWatch = state.ownWatch == this ? null : state.ownWatch);
        }

        // A key whose lease is alive was deleted by somebody; else it went with the lease.
        private void lost() {
            boolean[] wasHeld = new boolean[1];
            claimTable.change(then -> {
                wasHeld[0] = holds(state) && state.created == created && !state.releasing;
                if (wasHeld[0]) {
                    claimTable.gone(state, Reason.RELEASED, then);
                }
            });
            if (wasHeld[0]) {
                Claim claim = state.claim;
                session.renew()
                        .handle((life, failure) -> life != null && life.lease() == state.session)
                        .thenAccept(lives ->
                                losses.lost(claim.name(), claim.id(), lives ? Reason.RELEASED : Reason.EXPIRED));
            }
        }
    }
}
