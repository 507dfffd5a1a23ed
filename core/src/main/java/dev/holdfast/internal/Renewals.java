package dev.holdfast.internal;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Renews everything that this client holds or waits for: one batch for the store whenever something is due, which takes
 * along what would be due soon. Its thread does nothing else.
 */
final class Renewals implements AutoCloseable {

    private final Engine engine;
    private final Set<Renewable> members = ConcurrentHashMap.newKeySet();
    private final Pacer pacer;

    Renewals(Engine engine, MonotonicClock clock, long origin) {
        this.engine = engine;
        this.pacer = new Pacer("holdfast-renewals", clock, origin, this::pass);
    }

    void add(Renewable member) {
        members.add(member);
        pacer.wakeBy(member.renewAt());
    }

    void remove(Renewable member) {
        members.remove(member);
    }

    void wakeBy(long at) {
        pacer.wakeBy(at);
    }

    private long pass(long now) {
        boolean anyDue = false;
        for (Renewable member : members) {
            anyDue |= member.renewAt() <= now;
        }
        if (anyDue) {
            sendBatch(now);
        }
        long next = Long.MAX_VALUE;
        for (Renewable member : members) {
            next = Math.min(next, member.renewAt());
        }
        return next;
    }

    private void sendBatch(long now) {
        List<Renewable> asked = new ArrayList<>();
        List<Claim> claims = new ArrayList<>();
        HeldNames held = new HeldNames(engine);
        long sentAt = engine.now();
        for (Renewable member : members) {
            Claim claim = member.renewFrom() <= now ? member.beginRenewal(sentAt, held) : null;
            if (claim != null) {
                asked.add(member);
                claims.add(claim);
            }
        }
        for (int from = 0; from < claims.size(); from += LockStore.MAX_BATCH) {
            int to = Math.min(claims.size(), from + LockStore.MAX_BATCH);
            send(asked.subList(from, to), claims.subList(from, to), from == 0 ? sentAt : engine.now());
        }
    }

    private void send(List<Renewable> asked, List<Claim> claims, long sentAt) {
        try {
            engine.store().renew(claims).whenComplete((answers, failure) -> {
                if (failure != null) {
                    failed(asked, claims, StoreException.of(failure), sentAt);
                } else {
                    answered(asked, claims, answers, sentAt);
                }
            });
        } catch (Throwable failure) {
            // Also an Error: unanswered, the leases would just run out.
            failed(asked, claims, StoreException.of(failure), sentAt);
        }
    }

    private void answered(List<Renewable> asked, List<Claim> claims, List<Renewed> answers, long sentAt) {
        if (answers.size() != asked.size()) {
            String message = "The store answered " + answers.size() + " of " + asked.size() + " renewals";
            failed(asked, claims, StoreException.unavailable(Effect.UNKNOWN, message, null), sentAt);
            return;
        }
        int failures = 0;
        for (int i = 0; i < answers.size(); i++) {
            Renewed answer = answers.get(i);
            failures += answer instanceof Renewed.Failed ? 1 : 0;
            asked.get(i).renewed(claims.get(i), answer, sentAt);
        }
        observe(asked.size(), failures, sentAt);
    }

    private void failed(List<Renewable> asked, List<Claim> claims, StoreException cause, long sentAt) {
        for (int i = 0; i < asked.size(); i++) {
            asked.get(i).renewalFailed(claims.get(i), cause);
        }
        observe(asked.size(), asked.size(), sentAt);
    }

    private void observe(int claims, int failures, long sentAt) {
        Duration took = Duration.ofNanos(engine.now() - sentAt);
        engine.observe(observer -> observer.renewed(claims, failures, took));
    }

    /** A number that grows with each beginning and each end of a pass. */
    long steps() {
        return pacer.steps();
    }

    /** Whether no pass is due or under way. */
    boolean isIdle() {
        return pacer.isIdle();
    }

    @Override
    public void close() {
        pacer.close();
    }
}
