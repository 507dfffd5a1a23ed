package dev.holdfast.etcd.session;

import com.google.protobuf.ByteString;
import dev.holdfast.etcd.rpc.EtcdClient;
import dev.holdfast.etcd.rpc.Txns;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import io.etcd.jetcd.api.TxnRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * What a client does by itself: it renews its session, ends claims whose own time is over, looks again for waiters whose
 * watch broke, and clears away what was left behind. One thread, which only sends and never waits for an answer.
 */
public final class SessionMaintenance implements AutoCloseable {

    /** The most tombstones of a client. The oldest are forgotten first; only lost replies leave any. */
    static final int MAX_TOMBSTONES = 1_000;

    /** After a beat that failed the next one follows after this part of the session's time, */
    private static final int RETRY_PART = 20;

    /** but not sooner than this. */
    private static final long RETRY_LEAST_NANOS = 20_000_000;

    private static final long IDLE_NANOS = Duration.ofSeconds(30).toNanos();

    private final EtcdClient port;
    private final Session session;
    private final ClaimTable places;
    private final Consumer<ClaimState> lookAgain;
    private final MonotonicClock clock;
    private final long ttlNanos;
    private final Map<ByteString, Long> tombstones = new LinkedHashMap<>();
    private final Thread thread;
    private volatile long wakesAt;
    private volatile long beatAt;
    private volatile boolean beating;
    private volatile boolean doubt;
    private volatile boolean closed;

    public SessionMaintenance(
            EtcdClient port,
            Session session,
            ClaimTable places,
            Consumer<ClaimState> lookAgain,
            MonotonicClock clock,
            Duration ttl) {
        this.port = port;
        this.session = session;
        this.places = places;
        this.lookAgain = lookAgain;
        this.clock = clock;
        this.ttlNanos = ttl.toNanos();
        this.beatAt = clock.nanoTime();
        this.wakesAt = beatAt;
        this.thread = new Thread(this::run, "holdfast-etcd-keeper");
        thread.setDaemon(true);
        places.whenEarlier(this::wakeBy);
    }

    public void start() {
        thread.start();
    }

    /** Something may have been left behind: sweeps with the next beat. */
    public void inDoubt() {
        doubt = true;
    }

    /** A tombstone was put, and is to go at a moment. */
    public void buried(ByteString tombstone, Duration after) {
        List<ByteString> over = new ArrayList<>(0);
        long until = clock.nanoTime() + after.toNanos();
        synchronized (tombstones) {
            tombstones.put(tombstone, until);
            while (tombstones.size() > MAX_TOMBSTONES) {
                ByteString oldest = tombstones.keySet().iterator().next();
                tombstones.remove(oldest);
                over.add(oldest);
            }
        }
        over.forEach(this::deleteTombstone);
        wakeBy(until);
    }

    public boolean hasTombstones() {
        synchronized (tombstones) {
            return !tombstones.isEmpty();
        }
    }

    private void wakeBy(long at) {
        if (at - wakesAt < 0) {
            wakesAt = at;
            // Not itself: it would not park, and pass over everything again and again.
            if (Thread.currentThread() != thread) {
                LockSupport.unpark(thread);
            }
        }
    }

    private void run() {
        while (!closed) {
            // Before the pass: what comes while it runs must not be slept through.
            wakesAt = clock.nanoTime() + IDLE_NANOS;
            long now = clock.nanoTime();
            beat(now);
            places.all().forEach(place -> look(place, now));
            dropTombstones(now);
            long wait = wakesAt - clock.nanoTime();
            if (wait > 0) {
                clock.parkNanos(this, wait);
            }
        }
    }

    private void beat(long now) {
        session.expire();
        long due = Math.max(session.renewAt() - now, beatAt - now);
        if (beating || due > 0) {
            wakeBy(now + (beating ? ttlNanos / RETRY_PART : due));
            return;
        }
        beating = true;
        session.beat().whenComplete((life, failure) -> {
            beatAt = clock.nanoTime() + (failure == null ? 0 : Math.max(RETRY_LEAST_NANOS, ttlNanos / RETRY_PART));
            beating = false;
            if (failure == null && doubt) {
                doubt = false;
                sweep(life.lease());
            }
            wakeBy(Math.max(beatAt, failure == null ? session.renewAt() : beatAt));
        });
        wakeBy(now + ttlNanos / RETRY_PART);
    }

    /** Removes keys of this client's that belong to none of its claims. */
    private void sweep(long lease) {
        port.keysOf(lease).whenComplete((keys, failure) -> {
            if (failure != null) {
                doubt = true;
                return;
            }
            for (ByteString key : keys) {
                boolean tombstone;
                synchronized (tombstones) {
                    tombstone = tombstones.containsKey(key);
                }
                if (!tombstone && !places.isKnown(key)) {
                    sweep(key);
                }
            }
        });
    }

    private void look(ClaimState place, long now) {
        if (place.lookAt != Long.MAX_VALUE) {
            if (place.lookAt - now <= 0) {
                lookAgain.accept(place);
            } else {
                wakeBy(place.lookAt);
            }
        }
        if (place.deadline == Long.MAX_VALUE) {
            return;
        }
        if (place.deadline - now > 0) {
            wakeBy(place.deadline);
            return;
        }
        boolean[] over = new boolean[1];
        places.change(then -> {
            // It may have been renewed since.
            over[0] = places.has(place) && place.deadline - now <= 0;
            if (over[0]) {
                places.gone(place, Renewed.Reason.EXPIRED, then);
            }
        });
        if (over[0]) {
            end(place);
        }
    }

    private void dropTombstones(long now) {
        List<ByteString> over = new ArrayList<>(0);
        synchronized (tombstones) {
            tombstones.forEach((key, until) -> {
                if (until - now <= 0) {
                    over.add(key);
                } else {
                    wakeBy(until);
                }
            });
            over.forEach(tombstones::remove);
        }
        over.forEach(this::deleteTombstone);
    }

    // What stands under the key is looked at first, because the next claim of the name may use the key again.
    private void sweep(ByteString key) {
        TxnRequest request =
                TxnRequest.newBuilder().addSuccess(Txns.getKey(key)).build();
        port.txn(request, false).whenComplete((answer, failure) -> {
            if (answer == null) {
                doubt = true;
            } else if (answer.getResponses(0).getResponseRange().getCount() > 0 && !places.isKnown(key)) {
                delete(key, answer.getResponses(0).getResponseRange().getKvs(0).getCreateRevision());
            }
        });
    }

    // The key of a claim whose fate is not known is found by the sweep.
    private void end(ClaimState place) {
        if (place.created > 0) {
            delete(place.key, place.created);
        } else {
            doubt = true;
        }
    }

    private void delete(ByteString key, long created) {
        send(TxnRequest.newBuilder().addCompare(Txns.createdAt(key, created)).addSuccess(Txns.delete(key)));
    }

    private void deleteTombstone(ByteString key) {
        send(TxnRequest.newBuilder().addSuccess(Txns.delete(key)));
    }

    private void send(TxnRequest.Builder request) {
        port.txn(request.build(), true).whenComplete((done, failure) -> {
            if (failure != null) {
                doubt = true;
            }
        });
    }

    @Override
    public void close() {
        closed = true;
        LockSupport.unpark(thread);
    }
}
