package dev.holdfast.etcd.op;

import dev.holdfast.etcd.queue.AdmissionQueue;
import dev.holdfast.etcd.queue.LockKeys;
import dev.holdfast.etcd.rpc.EtcdClient;
import dev.holdfast.etcd.rpc.Txns;
import dev.holdfast.etcd.session.ClaimState;
import dev.holdfast.etcd.session.ClaimTable;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Renewed.Reason;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Finds out why a claim is gone. Its watch and a renewal may find at the same time that a holder's key is gone. The first
 * of them asks for the reason, and both report that one: while it is asked for, the claim is {@code LOST} and stays in
 * the table, so that a renewal which begins meanwhile finds it there.
 */
final class HolderLoss {

    private final EtcdClient client;
    private final QueueReader reader;
    private final ClaimTable claimTable;
    private final LockKeys keys;

    HolderLoss(EtcdClient client, QueueReader reader, ClaimTable claimTable, LockKeys keys) {
        this.client = client;
        this.reader = reader;
        this.claimTable = claimTable;
        this.keys = keys;
    }

    /**
     * The key of a holder is gone. The first caller to find that gets what will be the reason, and has to find that and to
     * {@link #end} the claim; any other one gets null.
     */
    @Nullable
    CompletableFuture<Reason> begin(ClaimState state, long created) {
        CompletableFuture<Reason> loss = new CompletableFuture<>();
        boolean[] first = new boolean[1];
        claimTable.change(then -> {
            first[0] = claimTable.has(state) && state.phase == ClaimState.Phase.HELD && state.created == created;
            if (first[0]) {
                state.phase = ClaimState.Phase.LOST;
                state.loss = loss;
            }
        });
        return first[0] ? loss : null;
    }

    /** The reason of a loss is known. The claim may have been acquired again meanwhile. */
    void end(ClaimState state, CompletableFuture<Reason> loss, Reason reason) {
        claimTable.change(then -> {
            if (state.phase == ClaimState.Phase.LOST && state.loss == loss) {
                claimTable.gone(state, reason, then);
            }
        });
        loss.complete(reason);
    }

    /** Why a holder is gone whose key was not found, or which is not in the table any more. */
    CompletionStage<Reason> reason(ClaimState state, long created, boolean leaseLives) {
        CompletableFuture<Reason> begun = begin(state, created);
        if (begun != null) {
            // The key is gone, whatever becomes of these reads; they can only show that another claim holds.
            reason(state.claim, leaseLives)
                    .exceptionally(failure -> ofKey(leaseLives))
                    .thenAccept(reason -> end(state, begun, reason));
            return begun;
        }
        CompletableFuture<Reason> loss = state.loss;
        return loss != null ? loss : reason(state.claim, false);
    }

    /**
     * Reads the queue, and whether there is a tombstone.
     *
     * @param wasDeleted whether it is known that neither its time nor its session was over
     */
    CompletionStage<Reason> reason(Claim claim, boolean wasDeleted) {
        TxnRequest tombstone = TxnRequest.newBuilder()
                .addSuccess(Txns.getKey(keys.tombstone(claim.name(), claim.id())))
                .build();
        return reader.readAll(keys.queue(claim.name()))
                .thenCombine(
                        client.txn(tombstone, false), (seen, read) -> reason(claim, seen.queue(), read, wasDeleted));
    }

    private static Reason reason(Claim claim, AdmissionQueue queue, TxnResponse tombstone, boolean wasDeleted) {
        if (tombstone.getResponses(0).getResponseRange().getCount() > 0) {
            return Reason.RELEASED;
        }
        // Its own key may still be there for a moment if its session has ended.
        boolean isTaken = queue.indexOf(claim.id()) < 0 && queue.isTaken(claim);
        return isTaken ? Reason.TAKEN : ofKey(wasDeleted);
    }

    // A key whose lease is alive was deleted by somebody; else it went with the lease.
    static Reason ofKey(boolean leaseLives) {
        return leaseLives ? Reason.RELEASED : Reason.EXPIRED;
    }
}
