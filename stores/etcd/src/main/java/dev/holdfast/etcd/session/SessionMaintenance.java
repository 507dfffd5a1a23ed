package dev.holdfast.etcd.session;

import com.google.protobuf.ByteString;
import dev.holdfast.etcd.rpc.EtcdClient;
import dev.holdfast.etcd.rpc.Txns;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.store.sequenced.Tombstones;
import io.etcd.jetcd.api.TxnRequest;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * The background work of a client: renews the session, ends claims whose own time is over, reads the queue again
 * for waiters whose watch was closed, and deletes keys that were left behind. It has one thread, which only sends
 * and never waits for an answer.
 */
public final class SessionMaintenance implements AutoCloseable {

    /**
     * The largest number of tombstones of a client. The oldest are deleted first. Only lost replies lead to
     * tombstones.
     */
    static final int MAX_TOMBSTONES = 1_000;

    /** After a failed renewal, the next one follows after the session's time to live divided by this. */
    private static final int RETRY_PART = 20;

    /** The shortest time between a failed renewal and the next one. */
    private static final long MIN_RETRY_NANOS = 20_000_000;

    private static final long IDLE_NANOS = Duration.ofSeconds(30).toNanos();

    private final EtcdClient client;
    private final Session session;
    private final ClaimTable claimTable;
    private final Consumer<ClaimState> readQueue;
    private final MonotonicClock clock;
    private final long ttlNanos;
    private final Tombstones<ByteString> tombstones;
    private final Thread thread;
    private volatile long wakesAt;
    private volatile long renewNotBefore;
    private volatile boolean renewing;
    private volatile boolean sweepNeeded;
    private volatile boolean closed;

    public SessionMaintenance(
            EtcdClient client,
            Session session,
            ClaimTable claimTable,
            Consumer<ClaimState> readQueue,
            MonotonicClock clock,
            Duration ttl) {
        this.client = client;
        this.session = session;
        this.claimTable = claimTable;
        this.readQueue = readQueue;
        this.clock = clock;
        this.ttlNanos = ttl.toNanos();
        this.tombstones = new Tombstones<>(clock, MAX_TOMBSTONES);
        this.renewNotBefore = clock.nanoTime();
        this.wakesAt = renewNotBefore;
        this.thread = new Thread(this::run, "holdfast-etcd-session");
        thread.setDaemon(true);
        claimTable.whenDeadlineSet(this::wakeBy);
    }

    public void start() {
        thread.start();
    }

    /** Requests a sweep after the next renewal, because a key may have been left behind. */
    public void requestSweep() {
        sweepNeeded = true;
    }

    /** A tombstone was put, and is deleted after the given time. */
    public void tombstonePut(ByteString tombstone, Duration after) {
        long until = clock.nanoTime() + after.toNanos();
        tombstones.add(tombstone, after).forEach(this::deleteTombstone);
        wakeBy(until);
    }

    public boolean hasTombstones() {
        return !tombstones.isEmpty();
    }

    private void wakeBy(long at) {
        if (at - wakesAt < 0) {
            wakesAt = at;
            // The thread must not unpark itself: it would not park, and would repeat its pass without a pause.
            if (Thread.currentThread() != thread) {
                LockSupport.unpark(thread);
            }
        }
    }

    private void run() {
        while (!closed) {
            // Set before the pass, so that the thread does not sleep through what becomes due while the pass runs.
            wakesAt = clock.nanoTime() + IDLE_NANOS;
            try {
                pass(clock.nanoTime());
            } catch (RuntimeException | Error failure) {
                // For want of memory. Without this thread the session would end, and no other one would be kept.
                renewing = false;
                wakeBy(clock.nanoTime() + MIN_RETRY_NANOS);
            }
            long wait = wakesAt - clock.nanoTime();
            if (wait > 0) {
                clock.parkNanos(this, wait);
            }
        }
    }

    private void pass(long now) {
        renewSession(now);
        claimTable.all().forEach(state -> check(state, now));
        tombstones.removeOver(this::wakeBy).forEach(this::deleteTombstone);
    }

    private void renewSession(long now) {
        session.expire();
        long due = Math.max(session.renewAt() - now, renewNotBefore - now);
        if (renewing || due > 0) {
            wakeBy(now + (renewing ? ttlNanos / RETRY_PART : due));
            return;
        }
        renewing = true;
        session.renew().whenComplete((life, failure) -> {
            renewNotBefore =
                    clock.nanoTime() + (failure == null ? 0 : Math.max(MIN_RETRY_NANOS, ttlNanos / RETRY_PART));
            renewing = false;
            if (failure == null && sweepNeeded) {
                sweepNeeded = false;
                sweep(life.lease());
            }
            wakeBy(Math.max(renewNotBefore, failure == null ? session.renewAt() : renewNotBefore));
        });
        wakeBy(now + ttlNanos / RETRY_PART);
    }

    /** Deletes keys of this client that belong to none of its claims. */
    private void sweep(long lease) {
        client.keysOf(lease).whenComplete((keys, failure) -> {
            if (failure != null) {
                sweepNeeded = true;
                return;
            }
            Set<ByteString> known = claimTable.keys();
            known.addAll(tombstones.all());
            keys.stream().filter(key -> !known.contains(key)).forEach(this::sweep);
        });
    }

    private void check(ClaimState state, long now) {
        if (state.readAt != Long.MAX_VALUE) {
            if (state.readAt - now <= 0) {
                readQueue.accept(state);
            } else {
                wakeBy(state.readAt);
            }
        }
        if (state.deadline == Long.MAX_VALUE) {
            return;
        }
        if (state.deadline - now > 0) {
            wakeBy(state.deadline);
            return;
        }
        boolean[] over = new boolean[1];
        claimTable.change(then -> {
            // The claim may have been renewed since.
            over[0] = claimTable.has(state) && state.deadline - now <= 0;
            if (over[0]) {
                claimTable.gone(state, Renewed.Reason.EXPIRED, then);
            }
        });
        if (over[0]) {
            end(state);
        }
    }

    // Reads the key before deleting it, because the next claim of the name may use the same key.
    private void sweep(ByteString key) {
        TxnRequest request =
                TxnRequest.newBuilder().addSuccess(Txns.getKey(key)).build();
        client.txn(request, false).whenComplete((answer, failure) -> {
            if (answer == null) {
                sweepNeeded = true;
            } else if (answer.getResponses(0).getResponseRange().getCount() > 0
                    && !claimTable.keys().contains(key)) {
                delete(key, answer.getResponses(0).getResponseRange().getKvs(0).getCreateRevision());
            }
        });
    }

    // If it is not known whether the claim has a key, the sweep finds the key.
    private void end(ClaimState state) {
        if (state.created > 0) {
            delete(state.key, state.created);
        } else {
            sweepNeeded = true;
        }
    }

    private void delete(ByteString key, long created) {
        send(TxnRequest.newBuilder().addCompare(Txns.createdAt(key, created)).addSuccess(Txns.delete(key)));
    }

    private void deleteTombstone(ByteString key) {
        send(TxnRequest.newBuilder().addSuccess(Txns.delete(key)));
    }

    private void send(TxnRequest.Builder request) {
        client.txn(request.build(), true).whenComplete((done, failure) -> {
            if (failure != null) {
                sweepNeeded = true;
            }
        });
    }

    @Override
    public void close() {
        closed = true;
        LockSupport.unpark(thread);
    }
}
