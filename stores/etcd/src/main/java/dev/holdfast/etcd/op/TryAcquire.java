package dev.holdfast.etcd.op;

import com.google.protobuf.ByteString;
import dev.holdfast.etcd.queue.AdmissionQueue;
import dev.holdfast.etcd.queue.QueueEntry;
import dev.holdfast.etcd.rpc.EtcdClient;
import dev.holdfast.etcd.rpc.EtcdErrors;
import dev.holdfast.etcd.rpc.Txns;
import dev.holdfast.etcd.session.ClaimState;
import dev.holdfast.etcd.session.ClaimTable;
import dev.holdfast.etcd.session.Session;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.KindConflictException;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.store.Stages;
import io.etcd.jetcd.api.RangeResponse;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Acquires at once or not at all, and leaves nothing behind: a key is put only in a transaction that is certain to
 * grant it.
 *
 * <p>The first transaction puts the keys if all queues are empty, else it reads the queues: one round trip for a
 * free name and for a busy mutex. If the queues that were read admit the claims, the next transaction puts the keys
 * unless a queue was written meanwhile: a second round trip for a reader beside readers, and for a permit beside
 * others. That is repeated when another client was faster.
 */
public final class TryAcquire {

    /** The largest number of transactions. After that, others were faster so often that the answer is "busy". */
    public static final int MAX_ROUNDS = 4;

    private final EtcdClient client;
    private final QueueReader reader;
    private final Session session;
    private final ClaimTable claimTable;
    private final MonotonicClock clock;

    public TryAcquire(
            EtcdClient client, QueueReader reader, Session session, ClaimTable claimTable, MonotonicClock clock) {
        this.client = client;
        this.reader = reader;
        this.session = session;
        this.claimTable = claimTable;
        this.clock = clock;
    }

    public CompletionStage<List<Attempt>> acquire(List<Claim> claims) {
        List<ClaimState> states = new ArrayList<>(claims.size());
        for (Claim claim : claims) {
            states.add(claimTable.begin(claim, null));
        }
        CompletableFuture<List<Attempt>> result = new CompletableFuture<>();
        session.with(life -> new Round(claims, states, life).run()).whenComplete((attempts, failure) -> {
            if (failure != null) {
                StoreException cause = EtcdErrors.of(failure, true, client.toString());
                session.failed(cause);
                states.forEach(state -> claimTable.attemptFailed(state, cause));
                result.completeExceptionally(cause);
            } else {
                result.complete(attempts);
            }
        });
        return result;
    }

    /** What was read about one of the names. */
    private record Seen(AdmissionQueue queue, boolean hasTombstone, long revision) {}

    /** One attempt to acquire all of the claims. */
    private final class Round {

        private final List<Claim> claims;
        private final List<ClaimState> states;
        private final Session.Life life;
        /**
         * Whether one of the claims is a wait set, which admits no claim: then no key is put for the others either.
         */
        private final boolean hasWaitSet;

        private @Nullable List<Seen> seen;
        private int rounds;
        private long sentAt;
        private long sentEpoch;

        private Round(List<Claim> claims, List<ClaimState> states, Session.Life life) {
            this.claims = claims;
            this.states = states;
            this.life = life;
            this.hasWaitSet = claims.stream().anyMatch(Claim::isWaitSet);
        }

        private CompletionStage<List<Attempt>> run() {
            if (rounds++ == MAX_ROUNDS) {
                return CompletableFuture.completedStage(busy());
            }
            sentAt = clock.nanoTime();
            sentEpoch = clock.epochMicros();
            return client.txn(request(), true).thenCompose(this::answered);
        }

        private TxnRequest request() {
            TxnRequest.Builder request = TxnRequest.newBuilder();
            List<Seen> known = seen;
            for (int i = 0; i < claims.size(); i++) {
                Claim claim = claims.get(i);
                ClaimState state = states.get(i);
                ByteString key = claimTable.key(state, life.lease());
                QueueEntry own = known == null ? null : own(known.get(i), claim);
                if (own != null) {
                    request.addCompare(Txns.createdAt(own.key(), own.created()));
                    if (own.permits() > claim.permits() && !hasWaitSet) {
                        request.addCompare(Txns.writtenAt(own.key(), own.modified()));
                        request.addSuccess(Txns.rewrite(own.key(), QueueEntry.value(claim, own.since())));
                    }
                } else {
                    request.addCompare(Txns.absent(state.tombstone));
                    request.addCompare(
                            known == null
                                    ? Txns.empty(state.queue)
                                    : Txns.unwrittenSince(
                                            state.queue, known.get(i).revision()));
                    request.addSuccess(
                            hasWaitSet
                                    ? Txns.getKey(key)
                                    : Txns.put(key, QueueEntry.value(claim, sentEpoch), life.lease()));
                }
                request.addFailure(Txns.some(state.queue, Math.max(1, QueueWait.SHORT_QUEUE / claims.size())));
                request.addFailure(Txns.getKey(state.tombstone));
            }
            return request.build();
        }

        private CompletionStage<List<Attempt>> answered(TxnResponse answer) {
            long revision = answer.getHeader().getRevision();
            if (answer.getSucceeded()) {
                return hasWaitSet ? CompletableFuture.completedStage(busy()) : granted(revision);
            }
            List<CompletionStage<Seen>> all = new ArrayList<>(claims.size());
            for (int i = 0; i < claims.size(); i++) {
                boolean hasTombstone =
                        answer.getResponses(2 * i + 1).getResponseRange().getCount() > 0;
                all.add(queue(i, answer.getResponses(2 * i).getResponseRange(), revision)
                        .thenApply(read -> new Seen(read.queue(), hasTombstone, read.revision())));
            }
            return Stages.all(all).thenCompose(this::decide);
        }

        // The answer has all of a short queue. Of a long one, an exclusive claim need know the first claim only, and
        // any other one all of it.
        private CompletionStage<QueueReader.Seen> queue(int i, RangeResponse some, long revision) {
            ByteString queue = states.get(i).queue;
            if (!some.getMore()) {
                return CompletableFuture.completedStage(
                        new QueueReader.Seen(AdmissionQueue.of(queue, some.getKvsList(), true), revision));
            }
            return claims.get(i).isExclusive() ? reader.readFirst(queue) : reader.readAll(queue);
        }

        private CompletionStage<List<Attempt>> decide(List<Seen> known) {
            seen = known;
            boolean changes = false;
            for (int i = 0; i < claims.size(); i++) {
                Claim claim = claims.get(i);
                QueueEntry own = own(known.get(i), claim);
                if (!mayHold(claim, known.get(i), own)) {
                    return CompletableFuture.completedStage(busy());
                }
                if (own == null && known.get(i).queue().entry(claimTable.key(states.get(i), life.lease())) != null) {
                    // A key of this client is left in the slot.
                    claimTable.leaveSlot(states.get(i));
                }
                changes |= own == null || own.permits() > claim.permits();
            }
            boolean isBusy = hasWaitSet && !changes;
            return changes ? run() : isBusy ? CompletableFuture.completedStage(busy()) : granted(0);
        }

        private boolean mayHold(Claim claim, Seen one, @Nullable QueueEntry own) {
            AdmissionQueue queue = one.queue();
            if (own != null) {
                own.requireNoMore(claim);
                return true;
            }
            boolean waits = queue.indexOf(claim.id()) >= 0;
            if (!waits && !queue.entries().isEmpty() && queue.limit() != claim.limit()) {
                throw new KindConflictException(claim.name(), claim.limit(), queue.limit());
            }
            return !one.hasTombstone() && !waits && queue.admits(claim);
        }

        // The grant that a claim has already; a claim that waits has none.
        private @Nullable QueueEntry own(Seen one, Claim claim) {
            int index = one.queue().indexOf(claim.id());
            return index >= 0 && one.queue().isAdmitted(index)
                    ? one.queue().entries().get(index)
                    : null;
        }

        private List<Attempt> busy() {
            claimTable.change(then -> states.forEach(state -> claimTable.busy(state, then)));
            return List.of(new Attempt.Busy(Duration.ZERO));
        }

        private CompletionStage<List<Attempt>> granted(long revision) {
            List<CompletionStage<Attempt>> attempts = new ArrayList<>(claims.size());
            for (int i = 0; i < claims.size(); i++) {
                attempts.add(granted(claims.get(i), states.get(i), i, revision));
            }
            return Stages.all(attempts);
        }

        private CompletionStage<Attempt> granted(Claim claim, ClaimState state, int i, long revision) {
            List<Seen> known = seen;
            QueueEntry own = known == null ? null : own(known.get(i), claim);
            long created = own == null ? revision : own.created();
            long lease = own == null ? life.lease() : own.session();
            return session.leftOf(lease, life, sentAt).thenApply(left -> {
                Duration[] kept = {claim.lease()};
                boolean[] over = {left.isZero()};
                claimTable.change(then -> {
                    if (over[0] || !claimTable.has(state)) {
                        // Else it was released meanwhile, after it was granted.
                        over[0] |= !session.isAlive(life);
                        return;
                    }
                    if (state.phase == ClaimState.Phase.HELD) {
                        kept[0] = Duration.ofNanos(Math.max(1, state.deadline - clock.nanoTime()));
                    } else {
                        state.deadline = Long.MAX_VALUE;
                        state.since = own == null ? sentEpoch : own.since();
                    }
                    if (own != null) {
                        claimTable.keyFound(state, own);
                    }
                    claimTable.held(
                            state,
                            claim,
                            created,
                            lease,
                            Session.shorter(kept[0], left),
                            state.phase == ClaimState.Phase.HELD ? Duration.ZERO : claim.lease(),
                            then);
                    state.modified = own == null || own.permits() > claim.permits() ? revision : own.modified();
                });
                if (over[0]) {
                    // The servers may not have ended the session yet.
                    throw StoreException.unavailable(
                            Effect.UNKNOWN, "The claim was granted when its session was over", null);
                }
                return new Granted(created, Session.shorter(kept[0], left));
            });
        }
    }
}
