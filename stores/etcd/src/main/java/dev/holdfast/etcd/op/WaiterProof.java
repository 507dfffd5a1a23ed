package dev.holdfast.etcd.op;

import com.google.protobuf.ByteString;
import dev.holdfast.etcd.queue.AdmissionQueue;
import dev.holdfast.etcd.queue.QueueEntry;
import dev.holdfast.etcd.rpc.EtcdClient;
import dev.holdfast.etcd.rpc.Txns;
import dev.holdfast.etcd.session.ClaimState;
import dev.holdfast.etcd.session.ClaimTable;
import io.etcd.jetcd.api.KeyValue;
import io.etcd.jetcd.api.ResponseOp;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Shows that waiters of one name still wait, by the keys that it depends on: their own and those of the nearest claims
 * before them, each of which is read once, without its value. If none of a waiter's keys has changed, neither has what
 * the client knows about it.
 */
final class WaiterProof {

    /** The number of keys in a transaction; a server accepts 128 unless it is configured otherwise. */
    private static final int CALL_BATCH = 120;

    /** The most keys that are read one by one. Beyond that, the queue is read instead. */
    private static final int MAX_KEYS = 1_200;

    /** For each waiter what its place depends on; null if that is not known. */
    private final List<@Nullable List<QueueEntry>> proofs;

    private WaiterProof(List<@Nullable List<QueueEntry>> proofs) {
        this.proofs = proofs;
    }

    static WaiterProof of(ClaimTable claimTable, List<@Nullable ClaimState> waiters) {
        List<@Nullable List<QueueEntry>> proofs = new ArrayList<>(waiters.size());
        claimTable.change(then -> waiters.forEach(state -> proofs.add(state == null ? null : proof(state))));
        return new WaiterProof(proofs);
    }

    private static @Nullable List<QueueEntry> proof(ClaimState state) {
        AdmissionQueue queue = state.phase == ClaimState.Phase.WAITING ? state.seen : null;
        int index = queue == null ? -1 : queue.indexOf(state.claim.id());
        return queue == null || index < 0 ? null : queue.proof(index);
    }

    /** Reads the keys. Gives for each waiter whether it is shown to wait. */
    CompletionStage<List<Boolean>> check(EtcdClient client) {
        Set<ByteString> needed = new LinkedHashSet<>();
        proofs.forEach(proof -> {
            if (proof != null) {
                proof.forEach(entry -> needed.add(entry.key()));
            }
        });
        if (needed.size() > MAX_KEYS) {
            return CompletableFuture.completedStage(
                    proofs.stream().map(proof -> false).toList());
        }
        List<ByteString> keys = List.copyOf(needed);
        CompletionStage<Map<ByteString, KeyValue>> all = CompletableFuture.completedStage(new HashMap<>());
        for (int from = 0; from < keys.size(); from += CALL_BATCH) {
            TxnRequest.Builder request = TxnRequest.newBuilder();
            keys.subList(from, Math.min(keys.size(), from + CALL_BATCH))
                    .forEach(key -> request.addSuccess(Txns.getKey(key)));
            all = all.thenCombine(client.txn(request.build(), false), WaiterProof::with);
        }
        return all.thenApply(known -> proofs.stream()
                .map(proof -> proof != null && proof.stream().allMatch(entry -> isStill(entry, known)))
                .toList());
    }

    private static Map<ByteString, KeyValue> with(Map<ByteString, KeyValue> known, TxnResponse answer) {
        for (ResponseOp response : answer.getResponsesList()) {
            response.getResponseRange().getKvsList().forEach(pair -> known.put(pair.getKey(), pair));
        }
        return known;
    }

    private static boolean isStill(QueueEntry entry, Map<ByteString, KeyValue> known) {
        KeyValue pair = known.get(entry.key());
        return pair != null && entry.isStill(pair);
    }
}
