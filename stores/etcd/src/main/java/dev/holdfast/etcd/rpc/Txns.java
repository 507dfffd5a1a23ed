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

    /** Reads the first keys with this prefix, in the order of the keys. The answer says whether there are more. */
    public static RequestOp some(ByteString prefix, int limit) {
        return RequestOp.newBuilder()
                .setRequestRange(RangeRequest.newBuilder()
                        .setKey(prefix)
                        .setRangeEnd(LockKeys.endOf(prefix))
                        .setLimit(limit))
                .build();
    }

    /** Reads the keys with this prefix that were created last, but not after a revision. */
    public static RequestOp newest(ByteString prefix, long upTo, int limit) {
        return RequestOp.newBuilder()
                .setRequestRange(RangeRequest.newBuilder()
                        .setKey(prefix)
                        .setRangeEnd(LockKeys.endOf(prefix))
                        .setMaxCreateRevision(upTo)
                        .setSortTarget(RangeRequest.SortTarget.CREATE)
                        .setSortOrder(RangeRequest.SortOrder.DESCEND)
                        .setLimit(limit))
                .build();
    }

    /** Reads the key with this prefix that was created first. */
    public static RequestOp oldest(ByteString prefix) {
        return RequestOp.newBuilder()
                .setRequestRange(RangeRequest.newBuilder()
                        .setKey(prefix)
                        .setRangeEnd(LockKeys.endOf(prefix))
                        .setSortTarget(RangeRequest.SortTarget.CREATE)
                        .setSortOrder(RangeRequest.SortOrder.ASCEND)
                        .setLimit(1))
                .build();
    }

    /** Reads a page of the keys with this prefix, as they were at a revision; 0 for now. */
    public static RequestOp page(ByteString prefix, ByteString from, int limit, long revision) {
        return RequestOp.newBuilder()
                .setRequestRange(RangeRequest.newBuilder()
                        .setKey(from)
                        .setRangeEnd(LockKeys.endOf(prefix))
                        .setLimit(limit)
                        .setRevision(revision))
                .build();
    }

    /** The condition that a key exists and was last written at this revision. */
    public static Compare writtenAt(ByteString key, long revision) {
        return Compare.newBuilder()
                .setKey(key)
                .setTarget(CompareTarget.MOD)
                .setResult(CompareResult.EQUAL)
                .setModRevision(revision)
                .build();
    }

    /** A transaction within another. */
    public static RequestOp nested(TxnRequest.Builder txn) {
        return RequestOp.newBuilder().setRequestTxn(txn).build();
    }
}
