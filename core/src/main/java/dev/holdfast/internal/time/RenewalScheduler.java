package dev.holdfast.internal.time;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Renews all that this client holds or waits for. Whenever something is due, one batch is sent that takes along what is due
 * soon. Its thread does nothing else.
 */
public final class RenewalScheduler {

    /** Is notified when a batch was answered, or failed. Must not block. */
    public interface BatchListener {
        void batchEnded(int claims, int failed, Duration took);
    }

    private final LockStore store;
    private final Uptime time;
    private final BatchListener listener;

    private RenewalScheduler(LockStore store, Uptime time, BatchListener listener) {
        this.store = store;
        this.time = time;
        this.listener = listener;
    }

    /** An agenda whose entries are renewed when they are due. */
    public static Agenda<Renewable> agenda(LockStore store, Uptime time, BatchListener listener) {
        RenewalScheduler scheduler = new RenewalScheduler(store, time, listener);
        return new Agenda<Renewable>("holdfast-renewals", time, false, scheduler::renew).begin();
    }

    private void renew(List<Renewable> due, long now) {
        List<Renewable> asked = new ArrayList<>(due.size());
        List<Claim> claims = new ArrayList<>(due.size());
        long sentAt = time.now();
        for (Renewable member : due) {
            each(() -> {
                Claim claim = member.beginRenewal(sentAt);
                if (claim != null) {
                    asked.add(member);
                    claims.add(claim);
                }
            });
        }
        for (int from = 0; from < claims.size(); from += LockStore.MAX_BATCH) {
            int to = Math.min(claims.size(), from + LockStore.MAX_BATCH);
            send(asked.subList(from, to), claims.subList(from, to), from == 0 ? sentAt : time.now());
        }
    }

    private void send(List<Renewable> asked, List<Claim> claims, long sentAt) {
        try {
            store.renew(claims).whenComplete((answers, failure) -> {
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
            Renewable member = asked.get(i);
            Claim claim = claims.get(i);
            each(() -> member.renewed(claim, answer, sentAt));
        }
        listener.batchEnded(asked.size(), failures, Duration.ofNanos(time.now() - sentAt));
    }

    private void failed(List<Renewable> asked, List<Claim> claims, StoreException cause, long sentAt) {
        for (int i = 0; i < asked.size(); i++) {
            Renewable member = asked.get(i);
            Claim claim = claims.get(i);
            each(() -> member.renewalFailed(claim, cause));
        }
        listener.batchEnded(asked.size(), asked.size(), Duration.ofNanos(time.now() - sentAt));
    }

    // One that fails, which none should, must not keep the others from being renewed.
    private static void each(Runnable step) {
        try {
            step.run();
        } catch (Throwable failure) {
            Uncaught.report(failure);
        }
    }
}
