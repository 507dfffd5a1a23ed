package dev.holdfast.etcd.rpc;

import com.google.protobuf.ByteString;
import dev.holdfast.etcd.queue.LockKeys;
import io.etcd.jetcd.api.Compare;
import io.etcd.jetcd.api.Compare.CompareResult;
import io.etcd.jetcd.api.Compare.CompareTarget;
import io.etcd.jetcd.api.DeleteRangeRequest;
import io.etcd.jetcd.api.PutRequest;
import io.etcd.jetcd.api.RangeRequest;
import io.etcd.jetcd.api.RequestOp;
import io.etcd.jetcd.api.TxnRequest;

/** The parts that transactions are made of. */
public final class Txns {

    private Txns() {}

    /** A key is not there. */
    public static Compare absent(ByteString key) {
        return created(key, CompareResult.EQUAL, 0);
    }

    /** A key is there. */
    static Compare exists(ByteString key) {
        return created(key, CompareResult.GREATER, 0);
    }

    /** A key is the very one that was created then. */
    public static Compare createdAt(ByteString key, long revision) {
        return created(key, CompareResult.EQUAL, revision);
    }

    private static Compare created(ByteString key, CompareResult result, long revision) {
        return Compare.newBuilder()
                .setKey(key)
                .setTarget(CompareTarget.CREATE)
                .setResult(result)
                .setCreateRevision(revision)
                .build();
    }

    /** No key begins so. */
    public static Compare empty(ByteString beginning) {
        return Compare.newBuilder()
                .setKey(beginning)
                .setRangeEnd(LockKeys.endOf(beginning))
                .setTarget(CompareTarget.CREATE)
                .setResult(CompareResult.EQUAL)
                .setCreateRevision(0)
                .build();
    }

    /** No key that begins so was written after a revision; some may have gone. */
    public static Compare unwrittenSince(ByteString beginning, long revision) {
        return Compare.newBuilder()
                .setKey(beginning)
                .setRangeEnd(LockKeys.endOf(beginning))
                .setTarget(CompareTarget.MOD)
                .setResult(CompareResult.LESS)
                .setModRevision(revision + 1)
                .build();
    }

    public static RequestOp put(ByteString key, ByteString value, long session) {
        return RequestOp.newBuilder()
                .setRequestPut(
                        PutRequest.newBuilder().setKey(key).setValue(value).setLease(session))
                .build();
    }

    /** Another value for a key that lives on as it did. */
    public static RequestOp rewrite(ByteString key, ByteString value) {
        return RequestOp.newBuilder()
                .setRequestPut(
                        PutRequest.newBuilder().setKey(key).setValue(value).setIgnoreLease(true))
                .build();
    }

    public static RequestOp delete(ByteString key) {
        return RequestOp.newBuilder()
                .setRequestDeleteRange(DeleteRangeRequest.newBuilder().setKey(key))
                .build();
    }

    public static RequestOp get(ByteString key) {
        return RequestOp.newBuilder()
                .setRequestRange(RangeRequest.newBuilder().setKey(key))
                .build();
    }

    /** Whether, and since when, a key is there, without its value. */
    public static RequestOp getKey(ByteString key) {
        return RequestOp.newBuilder()
                .setRequestRange(RangeRequest.newBuilder().setKey(key).setKeysOnly(true))
                .build();
    }

    /** All that begins so. */
    public static RequestOp range(ByteString beginning) {
        return RequestOp.newBuilder()
                .setRequestRange(RangeRequest.newBuilder().setKey(beginning).setRangeEnd(LockKeys.endOf(beginning)))
                .build();
    }

    /** A transaction within another. */
    public static RequestOp nested(TxnRequest.Builder txn) {
        return RequestOp.newBuilder().setRequestTxn(txn).build();
    }
}
