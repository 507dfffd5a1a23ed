package dev.holdfast.etcd.op;

import dev.holdfast.etcd.queue.AdmissionQueue;
import dev.holdfast.etcd.queue.LockKeys;
import dev.holdfast.etcd.queue.QueueEntry;
import dev.holdfast.etcd.rpc.EtcdClient;
import dev.holdfast.etcd.rpc.EtcdErrors;
import dev.holdfast.etcd.rpc.Txns;
import dev.holdfast.etcd.session.ClaimState;
import dev.holdfast.etcd.session.ClaimTable;
import dev.holdfast.etcd.session.Session;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import io.etcd.jetcd.api.RangeResponse;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Renews a batch: one renewal of the session for the whole batch, and at the same time a check of the keys of holders
 * and waiters. So a batch is one round trip, and a claim that another client has ended is found to be gone.
 *
 * <p>Of a holder only its own key is read, {@value #CALL_BATCH} holders in a transaction. Of the waiters of a name the
 * own keys are read and those of the nearest claims before them; only where one of these has changed, the queue is
 * read, once for all waiters of the name. So the cost of a refresh grows with the waiters of this client, and not with
 * the length of the queue.
 */
public final class Renew {

    /**
     * The number of holders in a transaction. Each needs two operations, and a server accepts 128 in a transaction
     * unless it is configured otherwise.
     */
    static final int CALL_BATCH = 60;

    private final EtcdClient client;
    private final QueueReader reader;
    private final Session session;
    private final ClaimTable claimTable;
    private final QueueWait queueWait;
    private final HolderWatch holderWatch;
    private final LockKeys keys;
    private final MonotonicClock clock;

    public Renew(
            EtcdClient client,
            QueueReader reader,
            Session session,
            ClaimTable claimTable,
            QueueWait queueWait,
            HolderWatch holderWatch,
            LockKeys keys,
            MonotonicClock clock) {
        this.client = client;
        this.reader = reader;
        this.session = session;
        this.claimTable = claimTable;
        this.queueWait = queueWait;
        this.holderWatch = holderWatch;
        this.keys = keys;
        this.clock = clock;
    }

    public CompletionStage<List<Renewed>> renew(List<Claim> claims) {
        if (claims.isEmpty()) {
            return CompletableFuture.completedStage(List.of());
        }
        Batch batch = new Batch(clock.nanoTime(), session.renew());
        List<Answer> answers = new ArrayList<>(claims.size());
        List<Holder> holders = new ArrayList<>();
        Map<LockName, List<Answer>> waiters = new LinkedHashMap<>();
        for (Claim claim : claims) {
            ClaimState state = claimTable.find(claim.name(), claim.id());
            Answer answer = new Answer(claim, state, new CompletableFuture<>());
            answers.add(answer);
            if (state != null && state.phase == ClaimState.Phase.HELD) {
                holders.add(new Holder(answer, state));
            } else {
                waiters.computeIfAbsent(claim.name(), unused -> new ArrayList<>())
                        .add(answer);
            }
        }
        for (int from = 0; from < holders.size(); from += CALL_BATCH) {
            List<Holder> part = holders.subList(from, Math.min(holders.size(), from + CALL_BATCH));
            or(part.stream().map(Holder::answer).toList(), batch.renewHolders(part));
        }
        waiters.forEach((name, part) -> or(part, batch.refreshWaiters(name, part)));
        return CompletableFuture.allOf(answers.stream().map(Answer::renewed).toArray(CompletableFuture<?>[]::new))
                .thenApply(done -> orFail(
                        answers.stream().map(answer -> answer.renewed().join()).toList()));
    }

    /** A claim of the batch and what becomes of it. The state is null if this client does not know the claim. */
    private record Answer(Claim claim, @Nullable ClaimState state, CompletableFuture<Renewed> renewed) {}

    /** A claim that holds, as far as this client knows. */
    private record Holder(Answer answer, ClaimState state) {}

    private void or(List<Answer> part, CompletionStage<?> work) {
        work.whenComplete((done, failure) -> {
            if (failure != null) {
                StoreException cause = EtcdErrors.of(failure, true, client.toString());
                part.forEach(answer -> answer.renewed().complete(new Renewed.Failed(cause)));
            }
        });
    }

    private static List<Renewed> orFail(List<Renewed> answers) {
        if (answers.get(0) instanceof Renewed.Failed failed
                && answers.stream().allMatch(Renewed.Failed.class::isInstance)) {
            throw failed.cause();
        }
        return answers;
    }

    private static Duration kept(Claim claim, Duration left) {
        return Session.shorter(claim.lease(), left);
    }

    /** What the claims of a batch share. */
    private final class Batch {

        private final long sentAt;
        private final CompletionStage<Session.Life> sessionRenewal;
        /** The remaining time of other clients' leases, whose claims this client was asked to renew. */
        private final Map<Long, CompletionStage<Duration>> foreign = new ConcurrentHashMap<>();

        private Batch(long sentAt, CompletionStage<Session.Life> sessionRenewal) {
            this.sentAt = sentAt;
            this.sessionRenewal = sessionRenewal;
        }

        // Only if a claim was made through another store object, that object's lease is renewed too.
        private CompletionStage<Duration> left(long lease, Session.Life life) {
            return lease == life.lease()
                    ? CompletableFuture.completedStage(life.leftAt(sentAt))
                    : foreign.computeIfAbsent(lease, unknown -> session.leftOf(unknown, life, sentAt));
        }

        // ---- holders ----

        private CompletionStage<?> renewHolders(List<Holder> part) {
            TxnRequest.Builder request = TxnRequest.newBuilder();
            List<@Nullable Claim> owners = new ArrayList<>(part.size());
            claimTable.change(then -> part.forEach(holder -> {
                Claim owner = withNewOwner(holder);
                owners.add(owner);
                request.addSuccess(Txns.getKey(holder.state().key));
                // An empty transaction keeps the first answer of each claim at an even index.
                request.addSuccess(Txns.nested(
                        owner == null ? TxnRequest.newBuilder() : QueueWait.rewriting(holder.state(), owner)));
            }));
            boolean writes = owners.stream().anyMatch(Objects::nonNull);
            return client.txn(request.build(), writes).thenCombine(sessionRenewal, (answered, life) -> {
                long revision = answered.getHeader().getRevision();
                for (int i = 0; i < part.size(); i++) {
                    Claim owner = owners.get(i);
                    if (owner != null) {
                        TxnResponse rewritten = answered.getResponses(2 * i + 1).getResponseTxn();
                        ownerWritten(part.get(i).state(), owner, rewritten, revision);
                    }
                    renewed(part.get(i), answered.getResponses(2 * i).getResponseRange(), revision, life);
                }
                return life;
            });
        }

        // Owners change when threads begin to wait, which is rare: only then is anything written.
        private @Nullable Claim withNewOwner(Holder holder) {
            Claim known = holder.state().claim;
            Claim asked = holder.answer().claim();
            return known.owner().equals(asked.owner())
                    ? null
                    : known.withOwner(asked.owner()).withLease(asked.lease());
        }

        // If it was not written, the next renewal tries again.
        private void ownerWritten(ClaimState state, Claim owner, TxnResponse answer, long revision) {
            if (queueWait.rewritten(state, answer, revision) && answer.getSucceeded()) {
                claimTable.change(then ->
                        state.claim = state.claim.withOwner(owner.owner()).withLease(owner.lease()));
            }
        }

        private void renewed(Holder holder, RangeResponse key, long revision, Session.Life life) {
            ClaimState state = holder.state();
            Answer answer = holder.answer();
            boolean found = key.getCount() > 0 && key.getKvs(0).getCreateRevision() == state.created;
            if (!found) {
                // If the claim is not in the table any more, its time was over and this client has deleted the key.
                boolean[] wasKnown = new boolean[1];
                claimTable.change(then -> {
                    wasKnown[0] = claimTable.has(state);
                    claimTable.gone(state, Renewed.Reason.EXPIRED, then);
                });
                or(List.of(answer), gone(answer, wasKnown[0] && state.session == life.lease()));
                return;
            }
            holderWatch.renewed(state, revision);
            or(List.of(answer), left(state.session, life).thenCompose(left -> prolonged(holder, left)));
        }

        private CompletionStage<?> prolonged(Holder holder, Duration left) {
            ClaimState state = holder.state();
            Claim claim = holder.answer().claim();
            boolean[] lives = new boolean[1];
            claimTable.change(then -> {
                lives[0] = claimTable.has(state);
                if (lives[0]) {
                    claimTable.keepFor(state, claim.lease());
                }
            });
            if (!lives[0]) {
                return gone(holder.answer(), false);
            }
            Duration kept = Duration.ofNanos(Math.max(1, state.deadline - clock.nanoTime()));
            holder.answer().renewed().complete(new Granted(state.created, Session.shorter(kept, left)));
            return CompletableFuture.completedStage(null);
        }

        // ---- waiters ----

        private CompletionStage<?> refreshWaiters(LockName name, List<Answer> part) {
            WaiterProof proof =
                    WaiterProof.of(claimTable, part.stream().map(Answer::state).toList());
            return proof.check(client)
                    .thenCompose(stillWait -> sessionRenewal.thenCompose(life -> {
                        List<Answer> others = new ArrayList<>();
                        for (int i = 0; i < part.size(); i++) {
                            Renewed.Waiting still = stillWait.get(i) ? stillWaits(part.get(i)) : null;
                            if (still == null) {
                                others.add(part.get(i));
                            } else {
                                part.get(i).renewed().complete(still);
                            }
                        }
                        return others.isEmpty()
                                ? CompletableFuture.completedStage(null)
                                : readQueue(name, others, life);
                    }));
        }

        // Null if it was granted or ended while its keys were read.
        private Renewed.@Nullable Waiting stillWaits(Answer answer) {
            ClaimState state = answer.state();
            if (state == null) {
                return null;
            }
            Renewed.Waiting[] still = new Renewed.Waiting[1];
            claimTable.change(then -> {
                AdmissionQueue queue = state.seen;
                if (queue == null || !claimTable.has(state) || state.phase != ClaimState.Phase.WAITING) {
                    return;
                }
                int index = queue.indexOf(state.claim.id());
                if (index < 0 || queue.isAdmitted(index)) {
                    return;
                }
                claimTable.waits(state, queue, sentAt);
                still[0] = new Renewed.Waiting(queue.position(index), Duration.ZERO);
                boolean ownerChanged =
                        !state.claim.owner().equals(answer.claim().owner());
                state.claim = answer.claim().withPermits(state.claim.permits());
                if (ownerChanged) {
                    then.add(() -> queueWait.rewrite(state));
                }
            });
            return still[0];
        }

        private CompletionStage<?> readQueue(LockName name, List<Answer> part, Session.Life life) {
            ClaimState one = part.size() == 1 ? part.get(0).state() : null;
            CompletionStage<QueueReader.Seen> read = one != null && one.created > 0
                    ? reader.readFor(keys.queue(name), one.created)
                    : reader.readAll(keys.queue(name));
            return read.thenAccept(seen -> part.forEach(answer -> {
                int index = seen.queue().indexOf(answer.claim().id());
                if (index < 0) {
                    or(List.of(answer), gone(answer, false));
                    return;
                }
                QueueEntry own = seen.queue().entries().get(index);
                or(
                        List.of(answer),
                        left(own.session(), life)
                                .thenAccept(left ->
                                        answer.renewed().complete(fromQueue(answer.claim(), seen, index, left))));
            }));
        }

        private Renewed fromQueue(Claim claim, QueueReader.Seen seen, int index, Duration left) {
            AdmissionQueue queue = seen.queue();
            QueueEntry own = queue.entries().get(index);
            ClaimState state = claimTable.begin(claim, null);
            claimTable.change(then -> {
                state.claim = new Claim(
                        claim.name(),
                        claim.id(),
                        own.permits(),
                        own.limit(),
                        claim.lease(),
                        claim.owner(),
                        claim.repeated());
                claimTable.keyFound(state, own);
                if (queue.isAdmitted(index)) {
                    claimTable.granted(state, own.session(), kept(claim, left), claim.lease(), then);
                } else if (state.phase != ClaimState.Phase.HELD) {
                    claimTable.waits(state, queue, sentAt);
                    queueWait.queueSeen(state, seen, then);
                }
                if (!own.owner().equals(claim.owner())) {
                    then.add(() -> queueWait.rewrite(state));
                }
            });
            if (!queue.isAdmitted(index)) {
                return new Renewed.Waiting(queue.position(index), Duration.ZERO);
            }
            return new Granted(own.created(), kept(claim, left));
        }

        // ---- those that are gone ----

        /**
         * Reads the queue, and whether there is a tombstone, to find the reason.
         *
         * @param wasDeleted whether it is known that neither its time nor its session was over
         */
        private CompletionStage<?> gone(Answer answer, boolean wasDeleted) {
            Claim claim = answer.claim();
            TxnRequest tombstone = TxnRequest.newBuilder()
                    .addSuccess(Txns.getKey(keys.tombstone(claim.name(), claim.id())))
                    .build();
            return reader.readAll(keys.queue(claim.name())).thenCombine(client.txn(tombstone, false), (seen, read) -> {
                Renewed.Reason reason = reason(claim, seen.queue(), read, wasDeleted);
                ClaimState state = answer.state();
                if (state != null && state.phase == ClaimState.Phase.WAITING) {
                    claimTable.gone(state, reason);
                }
                return answer.renewed().complete(new Renewed.Gone(reason));
            });
        }

        private Renewed.Reason reason(Claim claim, AdmissionQueue queue, TxnResponse tombstone, boolean wasDeleted) {
            if (tombstone.getResponses(0).getResponseRange().getCount() > 0) {
                return Renewed.Reason.RELEASED;
            }
            Renewed.Reason free = wasDeleted ? Renewed.Reason.RELEASED : Renewed.Reason.EXPIRED;
            if (queue.admitted() == 0) {
                return free;
            }
            long granted = claim.permits();
            for (QueueEntry holder : queue.entries().subList(0, queue.admitted())) {
                granted += holder.permits();
            }
            boolean taken = queue.entries().get(0).limit() != claim.limit() || granted > claim.limit();
            return taken ? Renewed.Reason.TAKEN : free;
        }
    }
}
