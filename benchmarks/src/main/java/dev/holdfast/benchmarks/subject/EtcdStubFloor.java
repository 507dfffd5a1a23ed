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
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import java.net.URI;

/** The same transaction and delete as the floor on jetcd, by the generated stubs, blocking; it does not wait. */
public final class EtcdStubFloor implements Subject {

    /** No keep-alive: the floor's locks are never held for long. */
    private static final long LEASE_SECONDS = 3600;

    private final ManagedChannel channel;
    private final KVGrpc.KVBlockingStub kv;
    private final long lease;

    public EtcdStubFloor(String endpoint) {
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
                .addCompare(Compare.newBuilder()
                        .setKey(key)
                        .setResult(Compare.CompareResult.EQUAL)
                        .setTarget(Compare.CompareTarget.CREATE)
                        .setCreateRevision(0))
                .addSuccess(RequestOp.newBuilder()
                        .setRequestPut(PutRequest.newBuilder().setKey(key).setLease(lease)))
                .build();
        DeleteRangeRequest release = DeleteRangeRequest.newBuilder().setKey(key).build();
        return new Section() {
            @Override
            public void enter() {
                if (!kv.txn(acquire).getSucceeded()) {
                    throw new IllegalStateException(name + " is not free");
                }
            }

            @Override
            public void leave() {
                if (kv.deleteRange(release).getDeleted() != 1) {
                    throw new IllegalStateException(name + " was lost");
                }
            }
        };
    }

    @Override
    public void close() {
        channel.shutdownNow();
    }
}
