package dev.holdfast.benchmarks.subject;

import com.google.protobuf.ByteString;
import dev.holdfast.workload.Section;
import dev.holdfast.workload.Subject;
import io.etcd.jetcd.api.Compare;
import io.etcd.jetcd.api.DeleteRangeRequest;
import io.etcd.jetcd.api.KVGrpc;
import io.etcd.jetcd.api.LeaseGrantRequest;
import io.etcd.jetcd.api.LeaseGrpc;
import io.etcd.jetcd.api.PutRequest;
import io.etcd.jetcd.api.RequestOp;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import java.net.URI;

/**
 * The same transaction and delete as the floor on jetcd, by the generated stubs, blocking; it does not wait. A delete that
 * arrives late would end the lock of the next owner. So there is a second form, {@code floor-stubs-fenced}, which deletes the key
 * only if it still is the one that it has put.
 */
public final class EtcdStubFloor implements Subject {

    /** No keep-alive: the floor's locks are never held for long. */
    private static final long LEASE_SECONDS = 3600;

    private final boolean fenced;
    private final ManagedChannel channel;
    private final KVGrpc.KVBlockingStub kv;
    private final long lease;

    /** @param fenced whether a release compares the create revision */
    public EtcdStubFloor(String endpoint, boolean fenced) {
        this.fenced = fenced;
        URI address = URI.create(endpoint);
        channel = NettyChannelBuilder.forAddress(address.getHost(), address.getPort())
                .usePlaintext()
                .build();
        kv = KVGrpc.newBlockingStub(channel);
        lease = LeaseGrpc.newBlockingStub(channel)
                .leaseGrant(LeaseGrantRequest.newBuilder().setTTL(LEASE_SECONDS).build())
                .getID();
    }

    @Override
    public Section mutex(String name) {
        ByteString key = ByteString.copyFromUtf8(name);
        TxnRequest acquire = TxnRequest.newBuilder()
                .addCompare(createdAt(key, 0))
                .addSuccess(RequestOp.newBuilder()
                        .setRequestPut(PutRequest.newBuilder().setKey(key).setLease(lease)))
                .build();
        DeleteRangeRequest release = DeleteRangeRequest.newBuilder().setKey(key).build();
        return new Section() {
            private long created;

            @Override
            public void enter() {
                TxnResponse answer = kv.txn(acquire);
                if (!answer.getSucceeded()) {
                    throw new IllegalStateException(name + " is not free");
                }
                created = answer.getHeader().getRevision();
            }

            @Override
            public void leave() {
                boolean wasThere = fenced
                        ? kv.txn(fenced(release, created)).getSucceeded()
                        : kv.deleteRange(release).getDeleted() == 1;
                if (!wasThere) {
                    throw new IllegalStateException(name + " was lost");
                }
            }
        };
    }

    private static TxnRequest fenced(DeleteRangeRequest release, long created) {
        return TxnRequest.newBuilder()
                .addCompare(createdAt(release.getKey(), created))
                .addSuccess(RequestOp.newBuilder().setRequestDeleteRange(release))
                .build();
    }

    private static Compare createdAt(ByteString key, long revision) {
        return Compare.newBuilder()
                .setKey(key)
                .setResult(Compare.CompareResult.EQUAL)
                .setTarget(Compare.CompareTarget.CREATE)
                .setCreateRevision(revision)
                .build();
    }

    @Override
    public void close() {
        channel.shutdownNow();
    }
}
