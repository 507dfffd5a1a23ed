package dev.holdfast.etcd.op;

import com.google.protobuf.ByteString;
import dev.holdfast.etcd.queue.AdmissionQueue;
import dev.holdfast.etcd.queue.LockKeys;
import dev.holdfast.etcd.queue.QueueEntry;
import dev.holdfast.etcd.rpc.EtcdClient;
import dev.holdfast.etcd.rpc.EtcdErrors;
import dev.holdfast.etcd.rpc.Txns;
import dev.holdfast.etcd.session.ClaimState;
import dev.holdfast.etcd.session.ClaimTable;
import dev.holdfast.etcd.session.Session;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.KindConflictException;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import io.etcd.jetcd.api.ResponseOp;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Takes grants now or not at all, and leaves nothing behind: a key is put only in a transaction that is sure to grant it.
 *
 * <p>The first transaction puts the keys if all queues are empty, else it reads them: one trip for a free name and for a
 * busy mutex. If what was read admits the claims, the next one puts them unless a queue was written to meanwhile: a second
 * trip for a reader beside readers, and for a permit beside others. That is repeated when somebody was faster.
 */
public final class TryAcquire {

    /** So many transactions; after that so many others were faster that the answer is "busy". */
    public static final int MOST_ROUNDS = 4;

    private final EtcdClient port;
    private final Session session;
    private final ClaimTable places;
    private final LockKeys keys;
    private final MonotonicClock clock;

    public TryAcquire(EtcdClient port, Session session, ClaimTable places, LockKeys keys, MonotonicClock clock) {
        this.port = port;
        this.session = session;
        this.places = places;
        this.keys = keys;
        this.clock = clock;
    }

    public CompletionStage<List<Attempt>> acquire(List<Claim> claims) {
        List<ClaimState> begun = new ArrayList<>(claims.size());
        for (Claim claim : claims) {
            begun.add(places.begin(claim, null));
        }
        CompletableFuture<List<Attempt>> result = new CompletableFuture<>();
        session.open().thenCompose(life -> new Round(claims, begun, life).run()).whenComplete((attempts, failure) -> {
            if (failure != null) {
                StoreException cause = EtcdErrors.of(failure, true, port.toString());
                session.failed(cause);
                begun.forEach(place -> places.failed(place, cause));
                result.completeExceptionally(cause);
            } else {
                result.complete(attempts);
            }
        });
        return result;
    }

    /** What is known of one of the names. */
    private record Seen(AdmissionQueue queue, boolean buried, long revision) {}

    /** One attempt at all of the claims. */
    private final class Round {

        private final List<Claim> claims;
        private final List<ClaimState> begun;
        private final Session.Life life;
        /** Whether there is a wait set among the claims, which admits nobody: then nothing is put for the others either. */
        private final boolean hopeless;

        private @Nullable List<Seen> seen;
        private int rounds;
        private long sentAt;
        private long sentEpoch;

        private Round(List<Claim> claims, List<ClaimState> begun, Session.Life life) {
            this.claims = claims;
            this.begun = begun;
            this.life = life;
            this.hopeless = claims.stream().anyMatch(Claim::isWaitSet);
        }

        private CompletionStage<List<Attempt>> run() {
            if (rounds++ == MOST_ROUNDS) {
                return CompletableFuture.completedStage(busy());
            }
            sentAt = clock.nanoTime();
            sentEpoch = clock.epochMicros();
            return port.txn(request(), true).thenCompose(this::answered);
        }

        private TxnRequest request() {
            TxnRequest.Builder request = TxnRequest.newBuilder();
            List<Seen> known = seen;
            for (int i = 0; i < claims.size(); i++) {
                Claim claim = claims.get(i);
                ClaimState place = begun.get(i);
                ByteString key = places.key(place, life.lease());
                QueueEntry own = known == null ? null : own(known.get(i), claim);
                if (own != null) {
                    request.addCompare(Txns.createdAt(own.key(), own.created()));
                    if (own.permits() > claim.permits() && !hopeless) {
                        request.addSuccess(Txns.rewrite(own.key(), QueueEntry.value(claim, own.since())));
                    }
                } else {
                    request.addCompare(Txns.absent(keys.tombstone(claim.name(), claim.id())));
                    request.addCompare(
                            known == null
                                    ? Txns.empty(place.queue)
                                    : Txns.unwrittenSince(
                                            place.queue, known.get(i).revision()));
                    request.addSuccess(
                            hopeless
                                    ? Txns.range(place.queue)
                                    : Txns.put(key, QueueEntry.value(claim, sentEpoch), life.lease()));
                }
                request.addFailure(Txns.range(place.queue));
                request.addFailure(Txns.getKey(keys.tombstone(claim.name(), claim.id())));
            }
            return request.build();
        }

        private CompletionStage<List<Attempt>> answered(TxnResponse answer) {
            long revision = answer.getHeader().getRevision();
            if (answer.getSucceeded()) {
                return hopeless ? CompletableFuture.completedStage(busy()) : granted(revision);
            }
            List<Seen> known = new ArrayList<>(claims.size());
            for (int i = 0; i < claims.size(); i++) {
                ResponseOp tomb = answer.getResponses(2 * i + 1);
                AdmissionQueue queue = AdmissionQueue.of(
                        begun.get(i).queue, answer.getResponses(2 * i).getResponseRange());
                known.add(new Seen(queue, tomb.getResponseRange().getCount() > 0, revision));
            }
            seen = known;
            boolean changes = false;
            for (int i = 0; i < claims.size(); i++) {
                Claim claim = claims.get(i);
                QueueEntry own = own(known.get(i), claim);
                if (!mayHold(claim, known.get(i), own)) {
                    return CompletableFuture.completedStage(busy());
                }
                if (own == null && known.get(i).queue().entry(places.key(begun.get(i), life.lease())) != null) {
                    // Something of this client's is left in the slot.
                    places.leaveSlot(begun.get(i));
                }
                changes |= own == null || own.permits() > claim.permits();
            }
            return changes ? run() : hopeless ? CompletableFuture.completedStage(busy()) : granted(revision);
        }

        private boolean mayHold(Claim claim, Seen one, @Nullable QueueEntry own) {
            AdmissionQueue queue = one.queue();
            if (own != null) {
                if (claim.limit() != own.limit() || claim.permits() > own.permits()) {
                    throw StoreException.refused(
                            "Claim " + claim.id() + " holds " + own.permits() + " of " + own.limit()
                                    + " permits of \"" + claim.name() + "\" and cannot be changed to "
                                    + claim.permits() + " of " + claim.limit(),
                            null);
                }
                return true;
            }
            if (queue.indexOf(claim.id()) < 0
                    && !queue.entries().isEmpty()
                    && queue.entries().get(0).limit() != claim.limit()) {
                throw new KindConflictException(
                        claim.name(), claim.limit(), queue.entries().get(0).limit());
            }
            return !one.buried()
                    && !claim.isWaitSet()
                    && queue.indexOf(claim.id()) < 0
                    && queue.admits(claim.permits(), claim.limit());
        }

        // The grant that a claim has already; a claim that waits has none.
        private @Nullable QueueEntry own(Seen one, Claim claim) {
            int index = one.queue().indexOf(claim.id());
            return index >= 0 && one.queue().isAdmitted(index)
                    ? one.queue().entries().get(index)
                    : null;
        }

        // Places that are older than this attempt, because the claim holds or waits already, stay.
        private List<Attempt> busy() {
            places.change(then -> begun.stream()
                    .filter(place -> place.state == ClaimState.State.SENT || place.state == ClaimState.State.UNKNOWN)
                    .forEach(place -> places.remove(place, then)));
            return List.of(new Attempt.Busy(Duration.ZERO));
        }

        private CompletionStage<List<Attempt>> granted(long revision) {
            List<CompletionStage<Attempt>> attempts = new ArrayList<>(claims.size());
            for (int i = 0; i < claims.size(); i++) {
                attempts.add(granted(claims.get(i), begun.get(i), i, revision));
            }
            CompletionStage<List<Attempt>> all = CompletableFuture.completedStage(new ArrayList<>(claims.size()));
            for (CompletionStage<Attempt> one : attempts) {
                all = all.thenCombine(one, (list, attempt) -> {
                    list.add(attempt);
                    return list;
                });
            }
            return all;
        }

        private CompletionStage<Attempt> granted(Claim claim, ClaimState place, int i, long revision) {
            List<Seen> known = seen;
            QueueEntry own = known == null ? null : own(known.get(i), claim);
            long created = own == null ? revision : own.created();
            long lease = own == null ? life.lease() : own.session();
            return session.leftOf(lease, life, sentAt).thenApply(left -> {
                Duration[] kept = {claim.lease()};
                places.change(then -> {
                    if (!places.has(place)) {
                        return;
                    }
                    if (place.state == ClaimState.State.HELD) {
                        kept[0] = Duration.ofNanos(Math.max(1, place.deadline - clock.nanoTime()));
                    } else {
                        place.deadline = Long.MAX_VALUE;
                        place.since = own == null ? sentEpoch : own.since();
                    }
                    if (own != null) {
                        places.isAt(place, own);
                    }
                    places.held(
                            place,
                            claim,
                            created,
                            lease,
                            place.state == ClaimState.State.HELD ? Duration.ZERO : claim.lease(),
                            then);
                });
                return new Attempt.Granted(created, Session.shorter(kept[0], left));
            });
        }
    }
}
