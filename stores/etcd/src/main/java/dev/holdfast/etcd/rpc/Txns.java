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

/** Builds the conditions and the operations of transactions. */
public final class Txns {

    private Txns() {}

    /** The condition that a key does not exist. */
    public static Compare absent(ByteString key) {
        return created(key, CompareResult.EQUAL, 0);
    }

    /** The condition that a key exists. */
    static Compare exists(ByteString key) {
        return created(key, CompareResult.GREATER, 0);
    }

    /** The condition that a key exists and was created at this revision. */
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

    /** The condition that no key has this prefix. */
    public static Compare empty(ByteString prefix) {
        return Compare.newBuilder()
                .setKey(prefix)
                .setRangeEnd(LockKeys.endOf(prefix))
                .setTarget(CompareTarget.CREATE)
                .setResult(CompareResult.EQUAL)
                .setCreateRevision(0)
                .build();
    }

    /** The condition that no key with this prefix was written after a revision. Some keys may have been deleted. */
    public static Compare unwrittenSince(ByteString prefix, long revision) {
        return Compare.newBuilder()
                .setKey(prefix)
                .setRangeEnd(LockKeys.endOf(prefix))
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

    /** Puts another value under a key, which stays attached to its lease. */
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

    /** Reads whether a key exists and when it was created, without its value. */
    public static RequestOp getKey(ByteString key) {
        return RequestOp.newBuilder()
                .setRequestRange(RangeRequest.newBuilder().setKey(key).setKeysOnly(true))
                .build();
    }

    /** Reads all keys with this prefix. */
    public static RequestOp range(ByteString prefix) {
        return RequestOp.newBuilder()
                .setRequestRange(RangeRequest.newBuilder().setKey(prefix).setRangeEnd(LockKeys.endOf(prefix)))
                .build();
    }

    /** A transaction within another. */
    public static RequestOp nested(TxnRequest.Builder txn) {
        return RequestOp.newBuilder().setRequestTxn(txn).build();
    }
}
