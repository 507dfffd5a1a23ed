package dev.holdfast.etcd;

import com.google.protobuf.ByteString;
import dev.holdfast.etcd.config.EtcdOptions;
import dev.holdfast.etcd.op.Inspect;
import dev.holdfast.etcd.op.QueueWait;
import dev.holdfast.etcd.op.Renew;
import dev.holdfast.etcd.op.TryAcquire;
import dev.holdfast.etcd.queue.AdmissionQueue;
import dev.holdfast.etcd.queue.LockKeys;
import dev.holdfast.etcd.queue.QueueEntry;
import dev.holdfast.etcd.rpc.AuthToken;
import dev.holdfast.etcd.rpc.Endpoints;
import dev.holdfast.etcd.rpc.EtcdClient;
import dev.holdfast.etcd.rpc.EtcdErrors;
import dev.holdfast.etcd.rpc.GrpcEtcdClient;
import dev.holdfast.etcd.rpc.Txns;
import dev.holdfast.etcd.session.ClaimState;
import dev.holdfast.etcd.session.ClaimTable;
import dev.holdfast.etcd.session.Session;
import dev.holdfast.etcd.session.SessionMaintenance;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreTraits;
import dev.holdfast.spi.StoreTraits.Liveness;
import dev.holdfast.spi.StoreTraits.TokenSurvival;
import dev.holdfast.store.Bounds;
import io.etcd.jetcd.api.RangeResponse;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import io.grpc.Channel;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * A store in etcd. A claim is a key under {@code PREFIX NAME/}, its create revision is its place in the queue and the number
 * of its grant, and all keys of a client live by one lease. Acquiring a free lock is one transaction, releasing it another,
 * and a renewal one beat of the lease whatever the client holds. {@code etcdctl lock} and etcd's own Go client queue up in
 * the same way, so they and this store exclude each other. etcd's lock service is not used.
 *
 * <p>Opened by URL with {@link EtcdLockStoreProvider}, or over a channel of the user's with {@link #over(Channel)}.
 * Thread-safe; no call blocks. The recipe is the one of etcd's {@code client/v3/concurrency}, with a queue for all kinds.
 *
 * <h2>Overview for maintainers</h2>
 *
 * <p>{@link AdmissionQueue} says who holds, as a pure function of the keys. {@link TryAcquire}, {@link QueueWait} and {@link Renew} are
 * the verbs, {@link ClaimTable} is what this client has, {@link Session} until when that surely lives, and {@link SessionMaintenance} what
 * happens by itself. {@link EtcdClient} is the way to the servers. No lock is held while something is sent or told.
 */
public final class EtcdLockStore implements LockStore {

    /** The most calls of the port, one after the other, that a call of the store makes. */
    private static final int MOST_CALLS = TryAcquire.MOST_ROUNDS + 2;

    /** So often it is tried to open a session with the first call, on one server after the other. */
    private static final int MOST_OPENINGS = 3;

    private final EtcdClient port;
    private final StoreTraits traits;
    private final LockKeys keys;
    private final ClaimTable places;
    private final Session session;
    private final QueueWait waiting;
    private final TryAcquire attempts;
    private final Renew renewing;
    private final Inspect views;
    private final SessionMaintenance keeper;

    private EtcdLockStore(EtcdClient port, Session session, Duration ttl, EtcdOptions options, MonotonicClock clock) {
        this.port = port;
        this.session = session;
        this.keys = new LockKeys(options.prefix());
        this.places = new ClaimTable(keys, clock, ttl);
        this.waiting = new QueueWait(port, session, places, keys, clock, ttl);
        this.attempts = new TryAcquire(port, session, places, keys, clock);
        this.renewing = new Renew(port, session, places, waiting, keys, clock);
        this.views = new Inspect(port, places, keys, clock, ttl);
        this.keeper = new SessionMaintenance(port, session, places, waiting::look, clock, ttl);
        waiting.whenInDoubt(keeper::inDoubt);
        this.traits = new StoreTraits(
                "etcd",
                true,
                true,
                true,
                TokenSurvival.RESTART,
                Liveness.SESSION,
                Duration.ofMillis(1),
                ttl,
                options.timeout().multipliedBy(MOST_CALLS).plusSeconds(1));
        session.whenOver(places::sessionOver);
        keeper.start();
    }

    /** A store over a channel of the user's, with the default options. See {@link #over(Channel, String)}. */
    public static EtcdLockStore over(Channel channel) {
        return over(channel, "");
    }

    /**
     * A store over a gRPC channel of the user's, which is never closed by the store. Addresses, balancing, TLS and
     * credentials are the channel's business: put a log-in into an interceptor. Everything goes over this channel, leases
     * too.
     *
     * @param options as behind the question mark of a URL: {@code session=15s&prefix=app/}; {@code ca}, {@code cert} and
     *     {@code key} are refused
     * @throws IllegalArgumentException if an option is wrong
     * @throws StoreException if the servers cannot be reached
     */
    public static EtcdLockStore over(Channel channel, String options) {
        EtcdOptions parsed = EtcdOptions.parse(options);
        if (parsed.hasFiles()) {
            throw new IllegalArgumentException("Options ca, cert and key are settings of the channel");
        }
        GrpcEtcdClient port = new GrpcEtcdClient(
                Endpoints.over(channel),
                Endpoints.over(channel),
                new AuthToken(null, null),
                parsed.timeout(),
                "etcd over a channel");
        return opened(port, parsed, MonotonicClock.SYSTEM);
    }

    /** A store over any client library. The store closes the port. */
    static EtcdLockStore opened(EtcdClient port, EtcdOptions options, MonotonicClock clock) {
        Session session = new Session(port, clock, options.session());
        for (int i = 1; ; i++) {
            try {
                // Shows that the servers are there and let us in, on both connections.
                TxnRequest read = TxnRequest.newBuilder()
                        .addSuccess(Txns.getKey(ByteString.copyFromUtf8(options.prefix() + "holdfast")))
                        .build();
                Session.Life life = session.open()
                        .thenCombine(port.txn(read, false), (begun, answer) -> begun)
                        .toCompletableFuture()
                        .join();
                return new EtcdLockStore(port, session, Duration.ofNanos(life.ttl()), options, clock);
            } catch (CompletionException failure) {
                StoreException cause = EtcdErrors.of(failure, false, port.toString());
                // One server may be away, and a first connection is slow.
                if (i == MOST_OPENINGS || !cause.retryable()) {
                    port.close();
                    throw cause;
                }
            }
        }
    }

    @Override
    public StoreTraits traits() {
        return traits;
    }

    @Override
    public CompletionStage<Attempt> tryAcquire(Claim claim) {
        return attempts.acquire(List.of(claim)).thenApply(answers -> answers.get(0));
    }

    @Override
    public CompletionStage<List<Attempt>> tryAcquireAll(List<Claim> claims) {
        return attempts.acquire(Bounds.several(claims));
    }

    @Override
    public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
        waiting.enqueue(claim, listener);
        return () -> places.forgetListener(claim, listener);
    }

    @Override
    public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
        return renewing.renew(Bounds.batch(claims));
    }

    @Override
    public CompletionStage<Released> release(Claim claim) {
        CompletableFuture<Released> result = new CompletableFuture<>();
        session.open().thenCompose(life -> released(claim, life)).whenComplete((released, failure) -> {
            if (failure != null) {
                StoreException cause = EtcdErrors.of(failure, true, port.toString());
                session.failed(cause);
                result.completeExceptionally(cause);
            } else {
                result.complete(released);
            }
        });
        return result;
    }

    // A key of this client's is deleted by its name and fenced by its revision, so that no repeat of this hits a
    // later claim (etcd-io/etcd#22082). Any other claim is buried first and then looked for: nothing of it can come
    // in between.
    private CompletionStage<Released> released(Claim claim, Session.Life life) {
        ClaimState place = places.find(claim.name(), claim.id());
        ByteString tombstone = keys.tombstone(claim.name(), claim.id());
        TxnRequest.Builder request = TxnRequest.newBuilder();
        boolean known = false;
        if (place != null && place.created > 0) {
            known = true;
            request.addCompare(Txns.createdAt(place.key, place.created))
                    .addSuccess(Txns.delete(place.key))
                    .addFailure(Txns.put(tombstone, ByteString.EMPTY, life.lease()));
        }
        if (!known || claim.repeated()) {
            request.addSuccess(Txns.put(tombstone, ByteString.EMPTY, life.lease()));
        }
        if (!known) {
            request.addSuccess(Txns.range(keys.queue(claim.name())));
        }
        return released(claim, place, known, tombstone, request);
    }

    private CompletionStage<Released> released(
            Claim claim, @Nullable ClaimState place, boolean known, ByteString tombstone, TxnRequest.Builder request) {
        return port.txn(request.build(), true).thenCompose(answer -> {
            boolean buried = !known || claim.repeated() || !answer.getSucceeded();
            if (buried) {
                keeper.buried(tombstone, claim.lease());
            }
            CompletionStage<Boolean> found = known
                    ? CompletableFuture.completedStage(answer.getSucceeded())
                    : deleted(claim, answer.getResponses(1).getResponseRange());
            return found.thenApply(was -> {
                if (place != null) {
                    places.gone(place, Renewed.Reason.RELEASED);
                }
                return was ? Released.ALONE : Released.NOT_OWNER;
            });
        });
    }

    private CompletionStage<Boolean> deleted(Claim claim, RangeResponse range) {
        AdmissionQueue queue = AdmissionQueue.of(keys.queue(claim.name()), range);
        int index = queue.indexOf(claim.id());
        if (index < 0) {
            return CompletableFuture.completedStage(false);
        }
        QueueEntry entry = queue.entries().get(index);
        TxnRequest request = TxnRequest.newBuilder()
                .addCompare(Txns.createdAt(entry.key(), entry.created()))
                .addSuccess(Txns.delete(entry.key()))
                .build();
        return port.txn(request, true).thenApply(TxnResponse::getSucceeded);
    }

    @Override
    public CompletionStage<Optional<ResourceState>> inspect(LockName name) {
        return views.inspect(name);
    }

    @Override
    public CompletionStage<List<LockName>> list(String prefix, int limit) {
        Bounds.list(limit);
        return views.list(prefix, limit);
    }

    /** Claims that hold live on until the session's time is over; if there are none, the session ends here. */
    @Override
    public void close() {
        keeper.close();
        Session.Life life = session.life();
        if (life != null && places.isEmpty() && !keeper.hasTombstones()) {
            try {
                port.revoke(life.lease()).toCompletableFuture().join();
            } catch (CompletionException unreachable) {
                // Then it runs out by itself.
                keeper.inDoubt();
            }
        }
        places.clear();
        port.close();
    }

    @Override
    public String toString() {
        return "etcd store " + port;
    }
}
