package dev.holdfast.etcd.op;

import dev.holdfast.etcd.rpc.EtcdErrors;
import dev.holdfast.etcd.session.ClaimState;
import dev.holdfast.etcd.session.Session;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** What the claims of one renewal share: when it was sent, and the renewal of the session. */
final class RenewalBatch {

    final long sentAt;
    final CompletionStage<Session.Life> sessionRenewal;
    private final Session session;
    private final String where;
    /** The remaining time of other clients' leases, whose claims this client was asked to renew. */
    private final Map<Long, CompletionStage<Duration>> foreign = new ConcurrentHashMap<>();

    /** @param where a description of the servers, for messages */
    RenewalBatch(long sentAt, Session session, String where) {
        this.sentAt = sentAt;
        this.session = session;
        this.sessionRenewal = session.renew();
        this.where = where;
    }

    /** A claim of the batch and what becomes of it. The state is null if this client does not know the claim. */
    record Answer(Claim claim, @Nullable ClaimState state, CompletableFuture<Renewed> renewed) {}

    /** The remaining time of a lease. Only if a claim was made through another store object, that one's is renewed too. */
    CompletionStage<Duration> left(long lease, Session.Life life) {
        return lease == life.lease()
                ? CompletableFuture.completedStage(life.leftAt(sentAt))
                : foreign.computeIfAbsent(lease, unknown -> session.leftOf(unknown, life, sentAt));
    }

    /** If some work fails, the answers that depend on it are failures. */
    void or(List<Answer> part, CompletionStage<?> work) {
        work.whenComplete((done, failure) -> {
            if (failure != null) {
                StoreException cause = EtcdErrors.of(failure, true, where);
                part.forEach(answer -> answer.renewed().complete(new Renewed.Failed(cause)));
            }
        });
    }
}
