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
 * Renews a batch: one beat of the session for all of it, and beside it a look at the key of each holder and at the queue of
 * each waiter, {@value #CALL_BATCH} claims in a transaction. So a batch is one round trip, and a claim that somebody else
 * has ended is found gone.
 */
public final class Renew {

    /** Two operations each, and a server takes 128 in a transaction unless it is told otherwise. */
    static final int CALL_BATCH = 60;

    private final EtcdClient port;
    private final Session session;
    private final ClaimTable places;
    private final QueueWait waiting;
    private final LockKeys keys;
    private final MonotonicClock clock;

    public Renew(
            EtcdClient port,
            Session session,
            ClaimTable places,
            QueueWait waiting,
            LockKeys keys,
            MonotonicClock clock) {
        this.port = port;
        this.session = session;
        this.places = places;
        this.waiting = waiting;
        this.keys = keys;
        this.clock = clock;
    }

    public CompletionStage<List<Renewed>> renew(List<Claim> batch) {
        if (batch.isEmpty()) {
            return CompletableFuture.completedStage(List.of());
        }
        long sentAt = clock.nanoTime();
        CompletionStage<Session.Life> beat = session.beat();
        CompletionStage<List<Renewed>> all = CompletableFuture.completedStage(new ArrayList<>(batch.size()));
        for (int from = 0; from < batch.size(); from += CALL_BATCH) {
            List<Claim> part = batch.subList(from, Math.min(batch.size(), from + CALL_BATCH));
            CompletionStage<List<Renewed>> answers = new Part(part, sentAt, beat)
                    .run()
                    .exceptionally(failure -> {
                        StoreException cause = EtcdErrors.of(failure, true, port.toString());
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
        private final CompletionStage<Session.Life> beat;
        /** Those that hold, as far as is known: their key is all that is asked for. */
        private final List<@Nullable ClaimState> holders;

        private Part(List<Claim> claims, long sentAt, CompletionStage<Session.Life> beat) {
            this.claims = claims;
            this.sentAt = sentAt;
            this.beat = beat;
            this.holders = new ArrayList<>(claims.size());
        }

        private CompletionStage<List<Renewed>> run() {
            TxnRequest.Builder request = TxnRequest.newBuilder();
            boolean writes = false;
            for (Claim claim : claims) {
                ClaimState place = places.find(claim.name(), claim.id());
                if (place != null && place.state == ClaimState.State.HELD) {
                    holders.add(place);
                    request.addSuccess(Txns.getKey(place.key));
                    writes |= rewriteOwner(place, claim, request);
                } else {
                    holders.add(null);
                    addLook(request, claim);
                }
            }
            return port.txn(request.build(), writes)
                    .thenCombine(beat, Beaten::new)
                    .thenCompose(this::withForeignSessions)
                    .thenApply(this::answered)
                    .thenCompose(this::explained);
        }

        private void addLook(TxnRequest.Builder request, Claim claim) {
            request.addSuccess(Txns.range(keys.queue(claim.name())));
            request.addSuccess(Txns.getKey(keys.tombstone(claim.name(), claim.id())));
        }

        // Owners change when threads come to wait, which is seldom: only then is anything written.
        private boolean rewriteOwner(ClaimState place, Claim claim, TxnRequest.Builder request) {
            boolean[] changed = new boolean[1];
            places.change(then -> {
                if (!place.claim.owner().equals(claim.owner())) {
                    Claim old = place.claim;
                    place.claim = new Claim(
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
                rewrite.addCompare(Txns.createdAt(place.key, place.created))
                        .addSuccess(Txns.rewrite(place.key, QueueEntry.value(place.claim, place.since)));
                request.addSuccess(Txns.nested(rewrite));
            } else {
                // Keeps the answers at even places.
                request.addSuccess(Txns.nested(rewrite));
            }
            return changed[0];
        }

        /** What came back, and what is left of each lease that matters. */
        private record Beaten(TxnResponse answer, Session.Life life, Map<Long, Duration> foreign) {

            private Beaten(TxnResponse answer, Session.Life life) {
                this(answer, life, new HashMap<>());
            }

            private Duration left(long session, long since) {
                return session == life.lease()
                        ? life.leftAt(since)
                        : foreign.getOrDefault(session, Duration.ofNanos(1));
            }
        }

        private record Half(List<@Nullable Renewed> answers, List<Claim> missing) {}

        // Only if a claim was made through another store object: its lease is renewed too.
        private CompletionStage<Beaten> withForeignSessions(Beaten beaten) {
            Set<Long> foreign = new HashSet<>();
            for (ResponseOp response : beaten.answer().getResponsesList()) {
                for (KeyValue pair : response.getResponseRange().getKvsList()) {
                    String value = pair.getValue().toStringUtf8();
                    if (pair.getLease() != beaten.life().lease()
                            && claims.stream().anyMatch(claim -> value.contains("\n" + claim.id() + "\n"))) {
                        foreign.add(pair.getLease());
                    }
                }
            }
            for (ClaimState holder : holders) {
                if (holder != null && holder.session != beaten.life().lease()) {
                    foreign.add(holder.session);
                }
            }
            CompletionStage<Beaten> all = CompletableFuture.completedStage(beaten);
            for (long lease : foreign) {
                all = all.thenCombine(session.leftOf(lease, beaten.life(), sentAt), (done, left) -> {
                    done.foreign().put(lease, left);
                    return done;
                });
            }
            return all;
        }

        private Half answered(Beaten beaten) {
            TxnResponse answer = beaten.answer();
            List<@Nullable Renewed> answers = new ArrayList<>(claims.size());
            List<Claim> missing = new ArrayList<>(0);
            for (int i = 0; i < claims.size(); i++) {
                Claim claim = claims.get(i);
                ClaimState holder = holders.get(i);
                ResponseOp first = answer.getResponses(2 * i);
                if (holder == null) {
                    boolean buried =
                            answer.getResponses(2 * i + 1).getResponseRange().getCount() > 0;
                    answers.add(looked(
                            claim,
                            AdmissionQueue.of(keys.queue(claim.name()), first.getResponseRange()),
                            buried,
                            beaten));
                } else if (first.getResponseRange().getCount() > 0
                        && first.getResponseRange().getKvs(0).getCreateRevision() == holder.created) {
                    answers.add(prolonged(holder, claim, beaten));
                } else {
                    answers.add(null);
                    missing.add(claim);
                    places.gone(holder, Renewed.Reason.EXPIRED);
                }
            }
            return new Half(answers, missing);
        }

        private Renewed prolonged(ClaimState place, Claim claim, Beaten beaten) {
            boolean[] lives = new boolean[1];
            places.change(then -> {
                lives[0] = places.has(place);
                if (lives[0]) {
                    places.keepFor(place, claim.lease());
                }
            });
            if (!lives[0]) {
                return new Renewed.Gone(Renewed.Reason.EXPIRED);
            }
            Duration kept = Duration.ofNanos(Math.max(1, place.deadline - clock.nanoTime()));
            return new Renewed.Held(place.created, Session.shorter(kept, beaten.left(place.session, sentAt)));
        }

        private Renewed looked(Claim claim, AdmissionQueue queue, boolean buried, Beaten beaten) {
            int index = queue.indexOf(claim.id());
            ClaimState place = index < 0 ? places.find(claim.name(), claim.id()) : places.begin(claim, null);
            if (index < 0 || place == null) {
                Renewed.Reason reason = reason(claim, queue, buried);
                if (place != null && place.state == ClaimState.State.WAITING) {
                    places.gone(place, reason);
                }
                return new Renewed.Gone(reason);
            }
            QueueEntry own = queue.entries().get(index);
            Duration left = beaten.left(own.session(), sentAt);
            long revision = beaten.answer().getHeader().getRevision();
            places.change(then -> {
                place.claim = new Claim(
                        claim.name(),
                        claim.id(),
                        own.permits(),
                        own.limit(),
                        claim.lease(),
                        claim.owner(),
                        claim.repeated());
                places.isAt(place, own);
                if (queue.isAdmitted(index)) {
                    places.granted(place, own.session(), kept(claim, left), claim.lease(), then);
                } else if (place.state != ClaimState.State.HELD) {
                    places.waits(place, queue, sentAt);
                    waiting.seen(place, queue, revision, then);
                }
                if (!own.owner().equals(claim.owner())) {
                    then.add(() -> waiting.rewrite(place));
                }
            });
            if (!queue.isAdmitted(index)) {
                return new Renewed.Waiting(queue.position(index), Duration.ZERO);
            }
            return new Renewed.Held(own.created(), kept(claim, left));
        }

        // Holders whose key is gone: another look tells why.
        private CompletionStage<List<Renewed>> explained(Half half) {
            List<Renewed> complete = new ArrayList<>(half.answers().size());
            if (half.missing().isEmpty()) {
                half.answers().forEach(answer -> complete.add(orExpired(answer)));
                return CompletableFuture.completedStage(complete);
            }
            TxnRequest.Builder request = TxnRequest.newBuilder();
            half.missing().forEach(claim -> addLook(request, claim));
            return port.txn(request.build(), false).thenApply(answer -> {
                int next = 0;
                for (Renewed known : half.answers()) {
                    if (known != null) {
                        complete.add(known);
                        continue;
                    }
                    Claim claim = half.missing().get(next);
                    AdmissionQueue queue = AdmissionQueue.of(
                            keys.queue(claim.name()),
                            answer.getResponses(2 * next).getResponseRange());
                    boolean buried =
                            answer.getResponses(2 * next + 1).getResponseRange().getCount() > 0;
                    complete.add(new Renewed.Gone(reason(claim, queue, buried)));
                    next++;
                }
                return complete;
            });
        }

        private Renewed orExpired(@Nullable Renewed answer) {
            return answer == null ? new Renewed.Gone(Renewed.Reason.EXPIRED) : answer;
        }

        private Renewed.Reason reason(Claim claim, AdmissionQueue queue, boolean buried) {
            if (buried) {
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
