package dev.holdfast.etcd.op;

import dev.holdfast.etcd.op.HolderRenewal.Holder;
import dev.holdfast.etcd.op.RenewalBatch.Answer;
import dev.holdfast.etcd.queue.AdmissionQueue;
import dev.holdfast.etcd.queue.LockKeys;
import dev.holdfast.etcd.queue.QueueEntry;
import dev.holdfast.etcd.rpc.EtcdClient;
import dev.holdfast.etcd.session.ClaimState;
import dev.holdfast.etcd.session.ClaimTable;
import dev.holdfast.etcd.session.Session;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LossListener;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.store.TimeLimit;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Renews a batch: one renewal of the session for the whole batch, and at the same time a check of holders and waiters,
 * so that a claim which another client has ended is found to be gone. {@link HolderRenewal} checks the holders.
 *
 * <p>Of the waiters of a name the own keys are read and those of the nearest claims before them; only where one of these
 * has changed, the queue is read, once for all waiters of the name. So the cost of a refresh grows with the waiters of
 * this client, and not with the length of the queue.
 */
public final class Renew {

    private final EtcdClient client;
    private final QueueReader reader;
    private final Session session;
    private final ClaimTable claimTable;
    private final QueueWait queueWait;
    private final HolderLoss holderLoss;
    private final HolderRenewal holderRenewal;
    private final LockKeys keys;
    private final MonotonicClock clock;
    private final CallLimit callLimit;

    public Renew(
            EtcdClient client,
            QueueReader reader,
            Session session,
            ClaimTable claimTable,
            QueueWait queueWait,
            LossListener losses,
            LockKeys keys,
            MonotonicClock clock,
            CallLimit callLimit) {
        this.client = client;
        this.reader = reader;
        this.session = session;
        this.claimTable = claimTable;
        this.queueWait = queueWait;
        this.holderLoss = new HolderLoss(client, reader, claimTable, keys);
        HolderWatch holderWatch = new HolderWatch(client, session, claimTable, holderLoss, losses);
        queueWait.whenHolderEnded(holderWatch::lost);
        this.holderRenewal = new HolderRenewal(client, claimTable, queueWait, holderWatch, holderLoss, clock);
        this.keys = keys;
        this.clock = clock;
        this.callLimit = callLimit;
    }

    public CompletionStage<List<Renewed>> renew(List<Claim> claims) {
        if (claims.isEmpty()) {
            return CompletableFuture.completedStage(List.of());
        }
        RenewalBatch batch = new RenewalBatch(clock.nanoTime(), session, client.toString());
        List<Answer> answers = new ArrayList<>(claims.size());
        List<Holder> holders = new ArrayList<>();
        Map<LockName, List<Answer>> waiters = new LinkedHashMap<>();
        for (Claim claim : claims) {
            ClaimState state = claimTable.find(claim.name(), claim.id());
            Answer answer = new Answer(claim, state, new CompletableFuture<>());
            answers.add(answer);
            if (state != null && (state.phase == ClaimState.Phase.HELD || state.phase == ClaimState.Phase.LOST)) {
                holders.add(new Holder(answer, state, state.created));
            } else {
                waiters.computeIfAbsent(claim.name(), unused -> new ArrayList<>())
                        .add(answer);
            }
        }
        if (!holders.isEmpty()) {
            holderRenewal.renew(batch, holders);
        }
        waiters.forEach((name, part) -> batch.or(part, new WaiterRefresh(batch, name).refresh(part)));
        TimeLimit.Call call = callLimit.begin(
                late -> answers.forEach(answer -> answer.renewed().complete(new Renewed.Failed(late))));
        return CompletableFuture.allOf(answers.stream().map(Answer::renewed).toArray(CompletableFuture<?>[]::new))
                .thenApply(done -> {
                    call.end();
                    return orFail(answers.stream()
                            .map(answer -> answer.renewed().join())
                            .toList());
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

    /** The refresh of the waiters of one name, and the search for claims that this client does not know. */
    private final class WaiterRefresh {

        private final RenewalBatch batch;
        private final LockName name;

        private WaiterRefresh(RenewalBatch batch, LockName name) {
            this.batch = batch;
            this.name = name;
        }

        private CompletionStage<?> refresh(List<Answer> part) {
            WaiterProof proof =
                    WaiterProof.of(claimTable, part.stream().map(Answer::state).toList());
            return proof.check(client)
                    .thenCompose(stillWait -> batch.sessionRenewal.thenCompose(life -> {
                        List<Answer> others = new ArrayList<>();
                        for (int i = 0; i < part.size(); i++) {
                            Renewed.Waiting still = stillWait.get(i) ? stillWaits(part.get(i)) : null;
                            if (still == null) {
                                others.add(part.get(i));
                            } else {
                                part.get(i).renewed().complete(still);
                            }
                        }
                        return others.isEmpty() ? CompletableFuture.completedStage(null) : readQueue(others, life);
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
                claimTable.waits(state, queue, batch.sentAt);
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

        private CompletionStage<?> readQueue(List<Answer> part, Session.Life life) {
            ClaimState one = part.size() == 1 ? part.get(0).state() : null;
            CompletionStage<QueueReader.Seen> read = one != null && one.created > 0
                    ? reader.readFor(keys.queue(name), one.created)
                    : reader.readAll(keys.queue(name));
            return read.thenAccept(seen -> part.forEach(answer -> {
                int index = seen.queue().indexOf(answer.claim().id());
                if (index < 0) {
                    batch.or(List.of(answer), gone(answer));
                    return;
                }
                QueueEntry own = seen.queue().entries().get(index);
                batch.or(
                        List.of(answer),
                        batch.left(own.session(), life)
                                .thenAccept(left ->
                                        answer.renewed().complete(fromQueue(answer.claim(), seen, index, life, left))));
            }));
        }

        private Renewed fromQueue(Claim claim, QueueReader.Seen seen, int index, Session.Life life, Duration left) {
            AdmissionQueue queue = seen.queue();
            QueueEntry own = queue.entries().get(index);
            ClaimState state = claimTable.begin(claim, null);
            boolean[] over = new boolean[1];
            claimTable.change(then -> {
                over[0] = left.isZero() || (own.session() == life.lease() && !session.isAlive(life));
                if (over[0]) {
                    // It has ended since the queue was read, and with it the claims that it had then; this one is new.
                    claimTable.gone(state, Renewed.Reason.EXPIRED, then);
                    return;
                }
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
                    // The engine counts what the listener hears from the last answer "still waiting", which may be that
                    // to a later refresh.
                    Duration pushed = state.phase == ClaimState.Phase.WAITING && own.session() == life.lease()
                            ? Session.shorter(left, life.leftAt(state.waitsSince))
                            : left;
                    claimTable.granted(state, own.session(), kept(claim, pushed), claim.lease(), then);
                } else if (state.phase != ClaimState.Phase.HELD) {
                    claimTable.waits(state, queue, batch.sentAt);
                    queueWait.queueSeen(state, seen, then);
                }
                if (!own.owner().equals(claim.owner())) {
                    then.add(() -> queueWait.rewrite(state));
                }
            });
            if (over[0]) {
                return new Renewed.Gone(Renewed.Reason.EXPIRED);
            }
            if (!queue.isAdmitted(index)) {
                return new Renewed.Waiting(queue.position(index), Duration.ZERO);
            }
            return new Granted(own.created(), kept(claim, left));
        }

        private CompletionStage<?> gone(Answer answer) {
            return holderLoss.reason(answer.claim(), false).thenAccept(reason -> {
                ClaimState state = answer.state();
                if (state != null && state.phase == ClaimState.Phase.WAITING) {
                    claimTable.gone(state, reason);
                }
                answer.renewed().complete(new Renewed.Gone(reason));
            });
        }
    }
}
