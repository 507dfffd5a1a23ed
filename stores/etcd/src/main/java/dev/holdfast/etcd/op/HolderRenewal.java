package dev.holdfast.etcd.op;

import dev.holdfast.etcd.op.RenewalBatch.Answer;
import dev.holdfast.etcd.rpc.EtcdClient;
import dev.holdfast.etcd.rpc.Txns;
import dev.holdfast.etcd.session.ClaimState;
import dev.holdfast.etcd.session.ClaimTable;
import dev.holdfast.etcd.session.Session;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import io.etcd.jetcd.api.RangeResponse;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Renews the holders of a batch, for which the session is renewed at the same time. What that costs does not depend on how
 * many there are: the keys of {@value #CALL_BATCH} of them are read in one transaction, of others with each renewal, and
 * the rest is believed to be there because {@linkplain HolderWatch they are watched}.
 *
 * <p>Neither the beat of the lease nor silence of a watch proves anything by itself: a leader that is stuck or cut off
 * answers beats from its memory, and a watch may be on a server that lags behind. So a watch is believed only for what
 * it has surely reported. The transaction is confirmed by a majority and gives a revision, as of the time of this renewal.
 * Then the server of the watches is asked, on their stream, up to which revision it has reported. If that is not less, no
 * key that is watched was deleted by then, and so their lease was alive, too. If it is less, if it cannot be asked, or if a
 * watch has ended or has missed something, the keys are read.
 *
 * <p>Servers before 3.4.25 and 3.5.8 may answer a little ahead of the last events (etcd-io/etcd#15220). Such an event
 * is on its way then, and ends the holder when it arrives.
 */
final class HolderRenewal {

    /**
     * The number of holders in a transaction. Each needs two operations, and a server accepts 128 in a transaction
     * unless it is configured otherwise.
     */
    static final int CALL_BATCH = 60;

    private final EtcdClient client;
    private final ClaimTable claimTable;
    private final QueueWait queueWait;
    private final HolderWatch holderWatch;
    private final HolderLoss holderLoss;
    private final MonotonicClock clock;
    /** Which of the watched holders are read next, so that each has its turn. */
    private final AtomicInteger turn = new AtomicInteger();

    HolderRenewal(
            EtcdClient client,
            ClaimTable claimTable,
            QueueWait queueWait,
            HolderWatch holderWatch,
            HolderLoss holderLoss,
            MonotonicClock clock) {
        this.client = client;
        this.claimTable = claimTable;
        this.queueWait = queueWait;
        this.holderWatch = holderWatch;
        this.holderLoss = holderLoss;
        this.clock = clock;
    }

    /**
     * A claim that holds, as far as this client knows.
     *
     * @param created the create revision of its key
     */
    record Holder(Answer answer, ClaimState state, long created) {}

    void renew(RenewalBatch batch, List<Holder> holders) {
        List<Holder> read = new ArrayList<>();
        List<Holder> watched = new ArrayList<>();
        claimTable.change(then -> holders.forEach(holder ->
                (withNewOwner(holder) == null && holderWatch.covers(holder.state()) ? watched : read).add(holder)));
        int room = Math.min(watched.size(), CALL_BATCH - read.size() % CALL_BATCH);
        if (room < watched.size()) {
            Collections.rotate(watched, turn.addAndGet(room) % watched.size());
        }
        read.addAll(watched.subList(0, room));
        CompletionStage<Long> revision = read(batch, read);
        if (room < watched.size()) {
            believe(batch, watched.subList(room, watched.size()), revision);
        }
    }

    // ---- those that are watched ----

    private void believe(RenewalBatch batch, List<Holder> watched, CompletionStage<Long> revision) {
        CompletionStage<Boolean> reported = revision.thenCompose(
                        confirmed -> client.watchedUpTo().thenApply(upTo -> upTo >= confirmed))
                .exceptionally(failure -> false);
        batch.or(answers(watched), reported.thenCombine(batch.sessionRenewal, (isReported, life) -> {
            List<Holder> others = new ArrayList<>();
            claimTable.change(then -> watched.forEach(holder -> {
                ClaimState state = holder.state();
                if (isReported && state.session == life.lease() && holderWatch.covers(state)) {
                    prolong(holder, life.leftAt(batch.sentAt), then);
                } else {
                    others.add(holder);
                }
            }));
            return read(batch, others);
        }));
    }

    // ---- those whose keys are read ----

    /** Gives a revision at which the first keys were read. */
    private CompletionStage<Long> read(RenewalBatch batch, List<Holder> holders) {
        CompletionStage<Long> first = CompletableFuture.completedStage(0L);
        for (int from = 0; from < holders.size(); from += CALL_BATCH) {
            List<Holder> part = holders.subList(from, Math.min(holders.size(), from + CALL_BATCH));
            CompletionStage<Long> revision = readPart(batch, part);
            batch.or(answers(part), revision);
            first = from == 0 ? revision : first;
        }
        return first;
    }

    private static List<Answer> answers(List<Holder> holders) {
        return holders.stream().map(Holder::answer).toList();
    }

    private CompletionStage<Long> readPart(RenewalBatch batch, List<Holder> part) {
        TxnRequest.Builder request = TxnRequest.newBuilder();
        List<@Nullable Claim> owners = new ArrayList<>(part.size());
        claimTable.change(then -> part.forEach(holder -> {
            Claim owner = withNewOwner(holder);
            owners.add(owner);
            request.addSuccess(Txns.getKey(holder.state().key));
            // An empty transaction keeps the first answer of each claim at an even index.
            request.addSuccess(
                    Txns.nested(owner == null ? TxnRequest.newBuilder() : QueueWait.rewriting(holder.state(), owner)));
        }));
        boolean writes = owners.stream().anyMatch(Objects::nonNull);
        return client.txn(request.build(), writes).thenCombine(batch.sessionRenewal, (answered, life) -> {
            long revision = answered.getHeader().getRevision();
            for (int i = 0; i < part.size(); i++) {
                Claim owner = owners.get(i);
                if (owner != null) {
                    TxnResponse rewritten = answered.getResponses(2 * i + 1).getResponseTxn();
                    ownerWritten(part.get(i).state(), owner, rewritten, revision);
                }
                renewed(batch, part.get(i), answered.getResponses(2 * i).getResponseRange(), revision, life);
            }
            return revision;
        });
    }

    // Owners change when threads begin to wait, which is rare: only then is anything written.
    private static @Nullable Claim withNewOwner(Holder holder) {
        Claim known = holder.state().claim;
        Claim asked = holder.answer().claim();
        return known.owner().equals(asked.owner())
                ? null
                : known.withOwner(asked.owner()).withLease(asked.lease());
    }

    // If it was not written, the next renewal tries again.
    private void ownerWritten(ClaimState state, Claim owner, TxnResponse answer, long revision) {
        if (queueWait.rewritten(state, answer, revision) && answer.getSucceeded()) {
            claimTable.change(
                    then -> state.claim = state.claim.withOwner(owner.owner()).withLease(owner.lease()));
        }
    }

    private void renewed(RenewalBatch batch, Holder holder, RangeResponse key, long revision, Session.Life life) {
        ClaimState state = holder.state();
        boolean found = key.getCount() > 0 && key.getKvs(0).getCreateRevision() == state.created;
        if (!found) {
            gone(batch, holder, state.session == life.lease());
            return;
        }
        holderWatch.renewed(state, revision);
        batch.or(List.of(holder.answer()), batch.left(state.session, life).thenAccept(left -> {
            boolean[] lives = new boolean[1];
            claimTable.change(then -> {
                // A session may have ended since its key was read.
                lives[0] = !left.isZero() && claimTable.has(state) && state.phase == ClaimState.Phase.HELD;
                if (lives[0]) {
                    prolong(holder, left, then);
                }
            });
            if (!lives[0]) {
                gone(batch, holder, false);
            }
        }));
    }

    // Under the mutex.
    private void prolong(Holder holder, Duration left, List<Runnable> then) {
        ClaimState state = holder.state();
        claimTable.keepFor(state, holder.answer().claim().lease());
        Duration kept = Duration.ofNanos(Math.max(1, state.deadline - clock.nanoTime()));
        Granted granted = new Granted(state.created, Session.shorter(kept, left));
        then.add(() -> holder.answer().renewed().complete(granted));
    }

    private void gone(RenewalBatch batch, Holder holder, boolean leaseLives) {
        Answer answer = holder.answer();
        batch.or(
                List.of(answer),
                holderLoss
                        .reason(holder.state(), holder.created(), leaseLives)
                        .thenAccept(reason -> answer.renewed().complete(new Renewed.Gone(reason))));
    }
}
