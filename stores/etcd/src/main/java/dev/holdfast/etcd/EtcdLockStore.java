package dev.holdfast.etcd;

import com.google.protobuf.ByteString;
import dev.holdfast.etcd.config.EtcdOptions;
import dev.holdfast.etcd.op.CallLimit;
import dev.holdfast.etcd.op.Inspect;
import dev.holdfast.etcd.op.QueueReader;
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
import dev.holdfast.spi.LossListener;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.spi.StoreTraits;
import dev.holdfast.spi.StoreTraits.Liveness;
import dev.holdfast.spi.StoreTraits.TokenSurvival;
import dev.holdfast.store.Bounds;
import dev.holdfast.store.LossListeners;
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
 * A store in etcd. A claim is a key under {@code PREFIX NAME/}. Its create revision gives its position in the queue
 * and is the number of its grant. All keys of a client are attached to one etcd lease. Acquiring a free lock is one
 * transaction and releasing it another; a renewal is one keep-alive of the lease, whatever the client holds.
 * {@code etcdctl lock} and etcd's own Go client queue in the same way, so they and this store exclude each other.
 * etcd's lock service is not used.
 *
 * <p>Open it by URL with {@link EtcdLockStoreProvider}, or over the user's own channel with {@link #over(Channel)}.
 * The store is thread-safe, and no call blocks. The recipe is the one of etcd's {@code client/v3/concurrency}, with
 * a queue for all kinds of locks.
 *
 * <h2>Overview for maintainers</h2>
 *
 * <p>{@link AdmissionQueue} decides who holds, as a pure function of the keys. {@link TryAcquire},
 * {@link QueueWait}, {@link Renew} and {@link Inspect} are the operations; {@link QueueReader} reads queues for them,
 * and {@code HolderWatch} sees losses. {@link ClaimTable} has the claims of
 * this client, {@link Session} knows until when they are certain to live, and {@link SessionMaintenance} does the
 * background work. {@link EtcdClient} sends requests to the servers. No lock is held while a request is sent or a
 * listener is called.
 */
public final class EtcdLockStore implements LockStore {

    /** How often the first session is attempted at most, on one server after the other. */
    private static final int MAX_OPENINGS = 3;

    private final LossListeners losses = new LossListeners();
    private final EtcdClient client;
    private final StoreTraits traits;
    private final LockKeys keys;
    private final ClaimTable claimTable;
    private final Session session;
    private final QueueReader reader;
    private final CallLimit callLimit;
    private final QueueWait queueWait;
    private final TryAcquire tryAcquire;
    private final Renew renew;
    private final Inspect inspect;
    private final SessionMaintenance maintenance;

    private EtcdLockStore(EtcdClient client, Session session, Duration ttl, EtcdOptions options, MonotonicClock clock) {
        this.client = client;
        this.session = session;
        this.keys = new LockKeys(options.prefix());
        this.claimTable = new ClaimTable(keys, clock, ttl);
        this.reader = new QueueReader(client);
        this.callLimit = new CallLimit(client.timeout());
        this.queueWait = new QueueWait(client, reader, session, claimTable, clock, ttl, callLimit);
        this.tryAcquire = new TryAcquire(client, reader, session, claimTable, clock);
        this.renew = new Renew(client, reader, session, claimTable, queueWait, losses, keys, clock, callLimit);
        this.inspect = new Inspect(client, reader, claimTable, keys, clock, ttl);
        this.maintenance = new SessionMaintenance(client, session, claimTable, queueWait::readQueue, clock, ttl);
        claimTable.whenLost(losses);
        claimTable.whenAdmitted(queueWait::wakeNext);
        queueWait.whenSweepNeeded(maintenance::requestSweep);
        this.traits = new StoreTraits(
                "etcd",
                true,
                true,
                true,
                TokenSurvival.RESTART,
                Liveness.SESSION,
                Duration.ofMillis(1),
                ttl,
                callLimit.longest());
        session.whenOver(claimTable::sessionOver);
        maintenance.start();
    }

    /** A store over the user's own channel, with the default options. See {@link #over(Channel, String)}. */
    public static EtcdLockStore over(Channel channel) {
        return over(channel, "");
    }

    /**
     * A store over the user's own gRPC channel, which the store never closes. The channel is responsible for
     * addresses, load balancing, TLS and credentials: put a log-in into an interceptor. All requests use this
     * channel, those for leases too.
     *
     * @param options as behind the question mark of a URL: {@code session=15s&prefix=app/}; {@code ca},
     *     {@code cert} and {@code key} are refused
     * @throws IllegalArgumentException if an option is wrong
     * @throws StoreException if the servers cannot be reached
     */
    public static EtcdLockStore over(Channel channel, String options) {
        EtcdOptions parsed = EtcdOptions.parse(options);
        if (parsed.hasFiles()) {
            throw new IllegalArgumentException("Options ca, cert and key are settings of the channel");
        }
        GrpcEtcdClient client = new GrpcEtcdClient(
                Endpoints.over(channel),
                Endpoints.over(channel),
                new AuthToken(null, null),
                parsed.timeout(),
                "etcd over a channel");
        return opened(client, parsed, MonotonicClock.SYSTEM);
    }

    /** A store over any {@link EtcdClient}, which the store closes. */
    static EtcdLockStore opened(EtcdClient client, EtcdOptions options, MonotonicClock clock) {
        Session session = new Session(client, clock, options.session());
        for (int i = 1; ; i++) {
            try {
                // Checks that the servers answer and accept the user, on both connections.
                TxnRequest read = TxnRequest.newBuilder()
                        .addSuccess(Txns.getKey(ByteString.copyFromUtf8(options.prefix() + "holdfast")))
                        .build();
                Session.Life life = session.open()
                        .thenCombine(client.txn(read, false), (begun, answer) -> begun)
                        .toCompletableFuture()
                        .join();
                return new EtcdLockStore(client, session, Duration.ofNanos(life.ttl()), options, clock);
            } catch (CompletionException failure) {
                StoreException cause = EtcdErrors.of(failure, false, client.toString());
                // One server may be down, and a first connection is slow.
                if (i == MAX_OPENINGS || !cause.retryable()) {
                    client.close();
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
        return limited(tryAcquire.acquire(List.of(claim)).thenApply(answers -> answers.get(0)));
    }

    @Override
    public CompletionStage<List<Attempt>> tryAcquireAll(List<Claim> claims) {
        return limited(tryAcquire.acquire(Bounds.several(claims)));
    }

    private <T> CompletionStage<T> limited(CompletionStage<T> call) {
        return callLimit.on(call, Effect.UNKNOWN);
    }

    @Override
    public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
        queueWait.enqueue(claim, listener);
        return () -> claimTable.removeListener(claim, listener);
    }

    @Override
    public ListenerRegistration watchLosses(LossListener listener) {
        return losses.add(listener);
    }

    @Override
    public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
        return renew.renew(Bounds.batch(claims));
    }

    @Override
    public CompletionStage<Released> release(Claim claim) {
        CompletableFuture<Released> result = new CompletableFuture<>();
        session.with(life -> released(claim, life)).whenComplete((released, failure) -> {
            if (failure != null) {
                StoreException cause = EtcdErrors.of(failure, true, client.toString());
                session.failed(cause);
                result.completeExceptionally(cause);
            } else {
                result.complete(released);
            }
        });
        return limited(result);
    }

    // A key that this client knows is deleted only if it still has the known create revision, so that a repeated
    // release cannot delete a later claim (etcd-io/etcd#22082). If copies of its acquire may be on their way, a
    // tombstone is put at the same time.
    private CompletionStage<Released> released(Claim claim, Session.Life life) {
        ClaimState state = claimTable.find(claim.name(), claim.id());
        if (state == null) {
            return releasedByTombstone(claim, null, keys.tombstone(claim.name(), claim.id()), life);
        }
        claimTable.releasing(state);
        if (state.created == 0) {
            return releasedByTombstone(claim, state, state.tombstone, life);
        }
        TxnRequest.Builder request = TxnRequest.newBuilder()
                .addCompare(Txns.createdAt(state.key, state.created))
                .addSuccess(Txns.delete(state.key));
        if (claim.repeated()) {
            request.addSuccess(Txns.put(state.tombstone, ByteString.EMPTY, life.lease()));
        }
        return client.txn(request.build(), true).thenCompose(answer -> {
            if (!answer.getSucceeded()) {
                return releasedByTombstone(claim, state, state.tombstone, life);
            }
            if (claim.repeated()) {
                maintenance.tombstonePut(state.tombstone, claim.lease());
            }
            return CompletableFuture.completedStage(released(state, true));
        });
    }

    // For a claim whose key is not known, or is gone, one transaction puts a tombstone and then reads the queue, so
    // that no key of that claim can be created between the two.
    private CompletionStage<Released> releasedByTombstone(
            Claim claim, @Nullable ClaimState state, ByteString tombstone, Session.Life life) {
        TxnRequest request = TxnRequest.newBuilder()
                .addSuccess(Txns.put(tombstone, ByteString.EMPTY, life.lease()))
                .addSuccess(Txns.some(keys.queue(claim.name()), QueueWait.SHORT_QUEUE))
                .build();
        return client.txn(request, true).thenCompose(answer -> {
            maintenance.tombstonePut(tombstone, claim.lease());
            return deleted(claim, answer.getResponses(1).getResponseRange())
                    .thenApply(wasOwner -> released(state, wasOwner));
        });
    }

    private Released released(@Nullable ClaimState state, boolean wasOwner) {
        if (state != null) {
            claimTable.gone(state, Renewed.Reason.RELEASED);
        }
        return wasOwner ? Released.ALONE : Released.NOT_OWNER;
    }

    private CompletionStage<Boolean> deleted(Claim claim, RangeResponse some) {
        ByteString queue = keys.queue(claim.name());
        return some.getMore()
                ? reader.readAll(queue).thenCompose(seen -> deleted(claim, seen.queue()))
                : deleted(claim, AdmissionQueue.of(queue, some.getKvsList(), true));
    }

    private CompletionStage<Boolean> deleted(Claim claim, AdmissionQueue queue) {
        int index = queue.indexOf(claim.id());
        if (index < 0) {
            return CompletableFuture.completedStage(false);
        }
        QueueEntry entry = queue.entries().get(index);
        TxnRequest request = TxnRequest.newBuilder()
                .addCompare(Txns.createdAt(entry.key(), entry.created()))
                .addSuccess(Txns.delete(entry.key()))
                .build();
        return client.txn(request, true).thenApply(TxnResponse::getSucceeded);
    }

    @Override
    public CompletionStage<Optional<ResourceState>> inspect(LockName name) {
        return callLimit.on(inspect.inspect(name), Effect.NONE);
    }

    @Override
    public CompletionStage<List<LockName>> list(String prefix, int limit) {
        Bounds.list(limit);
        return callLimit.on(inspect.list(prefix, limit), Effect.NONE);
    }

    /**
     * Held claims live on until the session ends. If the client has no claims and no tombstones, the session is
     * ended here.
     */
    @Override
    public void close() {
        maintenance.close();
        Session.Life life = session.life();
        if (life != null && claimTable.isEmpty() && !maintenance.hasTombstones()) {
            try {
                client.revoke(life.lease()).toCompletableFuture().join();
            } catch (CompletionException unreachable) {
                // The session then runs out by itself.
                maintenance.requestSweep();
            }
        }
        claimTable.clear();
        client.close();
    }

    @Override
    public String toString() {
        return "etcd store " + client;
    }
}
