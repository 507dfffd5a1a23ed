package dev.holdfast.benchmarks.subject;

import dev.holdfast.workload.Section;
import dev.holdfast.workload.Subject;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.lease.LeaseKeepAliveResponse;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.PutOption;
import io.etcd.jetcd.support.CloseableClient;
import io.grpc.stub.StreamObserver;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/**
 * jetcd. {@code jetcd}: the Lock service with a lease for each acquisition. {@code jetcd-kept}: the same with a lease that
 * each thread keeps alive; one for all threads would grant the lock to all of them. {@code floor}: a transaction that puts
 * the key if it is absent, and a delete; it does not wait.
 */
public final class JetcdSubject implements Subject {

    private final Client client;
    private final String subject;
    private final long leaseSeconds;
    private final PerThread<KeptLease> kept = new PerThread<>(this::keep);

    public JetcdSubject(String subject, String endpoint, Duration lease) {
        this.subject = subject;
        this.client = Client.builder().endpoints(endpoint).build();
        this.leaseSeconds = Math.max(1, lease.toSeconds());
    }

    private record KeptLease(long id, CloseableClient keepAlive) implements AutoCloseable {
        @Override
        public void close() {
            keepAlive.close();
        }
    }

    private KeptLease keep() throws Exception {
        long id = grant();
        CloseableClient keepAlive = client.getLeaseClient().keepAlive(id, new StreamObserver<>() {
            @Override
            public void onNext(LeaseKeepAliveResponse answer) {}

            @Override
            public void onError(Throwable failed) {
                System.err.println("A lease is not kept alive: " + failed);
            }

            @Override
            public void onCompleted() {}
        });
        return new KeptLease(id, keepAlive);
    }

    private long grant() throws Exception {
        return client.getLeaseClient().grant(leaseSeconds).get().getID();
    }

    @Override
    public Section mutex(String name) {
        ByteSequence key = ByteSequence.from(name, StandardCharsets.UTF_8);
        return switch (subject) {
            case "jetcd" -> leaseEach(key);
            case "jetcd-kept" -> keptLease(key);
            default -> transaction(key);
        };
    }

    private Section leaseEach(ByteSequence name) {
        ByteSequence[] held = new ByteSequence[1];
        long[] lease = new long[1];
        return new Section() {
            @Override
            public void enter() throws Exception {
                lease[0] = grant();
                held[0] = client.getLockClient().lock(name, lease[0]).get().getKey();
            }

            @Override
            public void leave() throws Exception {
                client.getLockClient().unlock(held[0]).get();
                client.getLeaseClient().revoke(lease[0]).get();
            }
        };
    }

    private Section keptLease(ByteSequence name) {
        ByteSequence[] held = new ByteSequence[1];
        return new Section() {
            @Override
            public void enter() throws Exception {
                held[0] = client.getLockClient().lock(name, kept.get().id).get().getKey();
            }

            @Override
            public void leave() throws Exception {
                client.getLockClient().unlock(held[0]).get();
            }
        };
    }

    private Section transaction(ByteSequence key) {
        Cmp absent = new Cmp(key, Cmp.Op.EQUAL, CmpTarget.createRevision(0));
        return new Section() {
            @Override
            public void enter() throws Exception {
                TxnResponse answer = client.getKVClient()
                        .txn()
                        .If(absent)
                        .Then(Op.put(
                                key,
                                ByteSequence.EMPTY,
                                PutOption.builder().withLeaseId(kept.get().id).build()))
                        .commit()
                        .get();
                if (!answer.isSucceeded()) {
                    throw new IllegalStateException(key + " is not free");
                }
            }

            @Override
            public void leave() throws Exception {
                if (client.getKVClient().delete(key).get().getDeleted() != 1) {
                    throw new IllegalStateException(key + " was lost");
                }
            }
        };
    }

    @Override
    public void close() throws Exception {
        kept.close();
        client.close();
    }
}
