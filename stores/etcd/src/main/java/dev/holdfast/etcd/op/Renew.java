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
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import io.etcd.jetcd.api.KeyValue;
import io.etcd.jetcd.api.ResponseOp;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Renews a batch: one renewal of the session for the whole batch, and at the same time a read of the key of each
 * holder and of the queue of each waiter, {@value #CALL_BATCH} claims in a transaction. So a batch is one round
 * trip, and a claim that another client has ended is found to be gone.
 */
public final class Renew {

    /**
     * The number of claims in a transaction. Each claim needs two operations, and a server accepts 128 in a
     * transaction unless it is configured otherwise.
     */
    static final int CALL_BATCH = 60;

    private final EtcdClient client;
    private final Session session;
    private final ClaimTable claimTable;
    private final QueueWait queueWait;
    private final LockKeys keys;
    private final MonotonicClock clock;

    public Renew(
            EtcdClient client,
            Session session,
            ClaimTable claimTable,
            QueueWait queueWait,
            LockKeys keys,
            MonotonicClock clock) {
        this.client = client;
        this.session = session;
        this.claimTable = claimTable;
        this.queueWait = queueWait;
        this.keys = keys;
        this.clock = clock;
    }

    public CompletionStage<List<Renewed>> renew(List<Claim> batch) {
        if (batch.isEmpty()) {
            return CompletableFuture.completedStage(List.of());
        }
        long sentAt = clock.nanoTime();
        CompletionStage<Session.Life> sessionRenewal = session.renew();
        CompletionStage<List<Renewed>> all = CompletableFuture.completedStage(new ArrayList<>(batch.size()));
        for (int from = 0; from < batch.size(); from += CALL_BATCH) {
            List<Claim> part = batch.subList(from, Math.min(batch.size(), from + CALL_BATCH));
            CompletionStage<List<Renewed>> answers = new Part(part, sentAt, sessionRenewal)
                    .run()
                    .exceptionally(failure -> {
                        StoreException cause = EtcdErrors.of(failure, true, client.toString());
                        return part.stream()
                                .<Renewed>map(claim -> new Renewed.Failed(cause))
                                .toList();
                    });
            all = all.thenCombine(answers, (list, more) -> {
                list.addAll(more);
                return list;
            });
        }
        return all.thenApply(Renew::orFail);
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

    /** The claims of one transaction. */
    private final class Part {

        private final List<Claim> claims;
        private final long sentAt;
        private final CompletionStage<Session.Life> sessionRenewal;
        /**
         * The states of claims that hold, as far as is known, and null for the others. Of a holder, only the key is
         * read.
         */
        private final List<@Nullable ClaimState> holders;

        private Part(List<Claim> claims, long sentAt, CompletionStage<Session.Life> sessionRenewal) {
            this.claims = claims;
            this.sentAt = sentAt;
            this.sessionRenewal = sessionRenewal;
            this.holders = new ArrayList<>(claims.size());
        }

        private CompletionStage<List<Renewed>> run() {
            TxnRequest.Builder request = TxnRequest.newBuilder();
            boolean writes = false;
            for (Claim claim : claims) {
                ClaimState state = claimTable.find(claim.name(), claim.id());
                if (state != null && state.phase == ClaimState.Phase.HELD) {
                    holders.add(state);
                    request.addSuccess(Txns.getKey(state.key));
                    writes |= rewriteOwner(state, claim, request);
                } else {
                    holders.add(null);
                    addQueueRead(request, claim);
                }
            }
            return client.txn(request.build(), writes)
                    .thenCombine(sessionRenewal, Reply::new)
                    .thenCompose(this::withForeignSessions)
                    .thenApply(this::answered)
                    .thenCompose(this::withReasons);
        }

        private void addQueueRead(TxnRequest.Builder request, Claim claim) {
            request.addSuccess(Txns.range(keys.queue(claim.name())));
            request.addSuccess(Txns.getKey(keys.tombstone(claim.name(), claim.id())));
        }

        // Owners change when threads begin to wait, which is rare: only then is anything written.
        private boolean rewriteOwner(ClaimState state, Claim claim, TxnRequest.Builder request) {
            boolean[] changed = new boolean[1];
            claimTable.change(then -> {
                if (!state.claim.owner().equals(claim.owner())) {
                    Claim old = state.claim;
                    state.claim = new Claim(
                            old.name(),
                            old.id(),
                            old.permits(),
                            old.limit(),
                            claim.lease(),
                            claim.owner(),
                            claim.repeated());
                    changed[0] = true;
                }
            });
            TxnRequest.Builder rewrite = TxnRequest.newBuilder();
            if (changed[0]) {
                rewrite.addCompare(Txns.createdAt(state.key, state.created))
                        .addSuccess(Txns.rewrite(state.key, QueueEntry.value(state.claim, state.since)));
                request.addSuccess(Txns.nested(rewrite));
            } else {
                // An empty transaction keeps the first answer of each claim at an even index.
                request.addSuccess(Txns.nested(rewrite));
            }
            return changed[0];
        }

        /** The answers of the servers, and the remaining time of each lease that matters. */
        private record Reply(TxnResponse answer, Session.Life life, Map<Long, Duration> foreign) {

            private Reply(TxnResponse answer, Session.Life life) {
                this(answer, life, new HashMap<>());
            }

            private Duration left(long session, long since) {
                return session == life.lease()
                        ? life.leftAt(since)
                        : foreign.getOrDefault(session, Duration.ofNanos(1));
            }
        }

        private record PartialAnswers(List<@Nullable Renewed> answers, List<Claim> missing) {}

        // Only if a claim was made through another store object: the lease of that claim is renewed too.
        private CompletionStage<Reply> withForeignSessions(Reply reply) {
            Set<Long> foreign = new HashSet<>();
            for (ResponseOp response : reply.answer().getResponsesList()) {
                for (KeyValue pair : response.getResponseRange().getKvsList()) {
                    String value = pair.getValue().toStringUtf8();
                    if (pair.getLease() != reply.life().lease()
                            && claims.stream().anyMatch(claim -> value.contains("\n" + claim.id() + "\n"))) {
                        foreign.add(pair.getLease());
                    }
                }
            }
            for (ClaimState holder : holders) {
                if (holder != null && holder.session != reply.life().lease()) {
                    foreign.add(holder.session);
                }
            }
            CompletionStage<Reply> all = CompletableFuture.completedStage(reply);
            for (long lease : foreign) {
                all = all.thenCombine(session.leftOf(lease, reply.life(), sentAt), (done, left) -> {
                    done.foreign().put(lease, left);
                    return done;
                });
            }
            return all;
        }

        private PartialAnswers answered(Reply reply) {
            TxnResponse answer = reply.answer();
            List<@Nullable Renewed> answers = new ArrayList<>(claims.size());
            List<Claim> missing = new ArrayList<>(0);
            for (int i = 0; i < claims.size(); i++) {
                Claim claim = claims.get(i);
                ClaimState holder = holders.get(i);
                ResponseOp first = answer.getResponses(2 * i);
                if (holder == null) {
                    boolean hasTombstone =
                            answer.getResponses(2 * i + 1).getResponseRange().getCount() > 0;
                    answers.add(fromQueue(
                            claim,
                            AdmissionQueue.of(keys.queue(claim.name()), first.getResponseRange()),
                            hasTombstone,
                            reply));
                } else if (first.getResponseRange().getCount() > 0
                        && first.getResponseRange().getKvs(0).getCreateRevision() == holder.created) {
                    answers.add(prolonged(holder, claim, reply));
                } else {
                    answers.add(null);
                    missing.add(claim);
                    claimTable.gone(holder, Renewed.Reason.EXPIRED);
                }
            }
            return new PartialAnswers(answers, missing);
        }

        private Renewed prolonged(ClaimState state, Claim claim, Reply reply) {
            boolean[] lives = new boolean[1];
            claimTable.change(then -> {
                lives[0] = claimTable.has(state);
                if (lives[0]) {
                    claimTable.keepFor(state, claim.lease());
                }
            });
            if (!lives[0]) {
                return new Renewed.Gone(Renewed.Reason.EXPIRED);
            }
            Duration kept = Duration.ofNanos(Math.max(1, state.deadline - clock.nanoTime()));
            return new Granted(state.created, Session.shorter(kept, reply.left(state.session, sentAt)));
        }

        private Renewed fromQueue(Claim claim, AdmissionQueue queue, boolean hasTombstone, Reply reply) {
            int index = queue.indexOf(claim.id());
            ClaimState state = index < 0 ? claimTable.find(claim.name(), claim.id()) : claimTable.begin(claim, null);
            if (index < 0 || state == null) {
                Renewed.Reason reason = reason(claim, queue, hasTombstone);
                if (state != null && state.phase == ClaimState.Phase.WAITING) {
                    claimTable.gone(state, reason);
                }
                return new Renewed.Gone(reason);
            }
            QueueEntry own = queue.entries().get(index);
            Duration left = reply.left(own.session(), sentAt);
            long revision = reply.answer().getHeader().getRevision();
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
                    queueWait.queueSeen(state, queue, revision, then);
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

        // Reads the queues of the holders whose key is gone, to find the reason.
        private CompletionStage<List<Renewed>> withReasons(PartialAnswers partial) {
            List<Renewed> complete = new ArrayList<>(partial.answers().size());
            if (partial.missing().isEmpty()) {
                partial.answers().forEach(answer -> complete.add(orExpired(answer)));
                return CompletableFuture.completedStage(complete);
            }
            TxnRequest.Builder request = TxnRequest.newBuilder();
            partial.missing().forEach(claim -> addQueueRead(request, claim));
            return client.txn(request.build(), false).thenApply(answer -> {
                int next = 0;
                for (Renewed known : partial.answers()) {
                    if (known != null) {
                        complete.add(known);
                        continue;
                    }
                    Claim claim = partial.missing().get(next);
                    AdmissionQueue queue = AdmissionQueue.of(
                            keys.queue(claim.name()),
                            answer.getResponses(2 * next).getResponseRange());
                    boolean hasTombstone =
                            answer.getResponses(2 * next + 1).getResponseRange().getCount() > 0;
                    complete.add(new Renewed.Gone(reason(claim, queue, hasTombstone)));
                    next++;
                }
                return complete;
            });
        }

        private Renewed orExpired(@Nullable Renewed answer) {
            return answer == null ? new Renewed.Gone(Renewed.Reason.EXPIRED) : answer;
        }

        private Renewed.Reason reason(Claim claim, AdmissionQueue queue, boolean hasTombstone) {
            if (hasTombstone) {
                return Renewed.Reason.RELEASED;
            }
            if (queue.admitted() == 0) {
                return Renewed.Reason.EXPIRED;
            }
            long granted = claim.permits();
            for (QueueEntry holder : queue.entries().subList(0, queue.admitted())) {
                granted += holder.permits();
            }
            boolean taken = queue.entries().get(0).limit() != claim.limit() || granted > claim.limit();
            return taken ? Renewed.Reason.TAKEN : Renewed.Reason.EXPIRED;
        }
    }
}
