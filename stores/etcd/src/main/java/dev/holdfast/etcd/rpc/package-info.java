/**
 * Communication with the servers: {@link dev.holdfast.etcd.rpc.EtcdClient} and its implementation over gRPC, the
 * one stream of all watches, the choice among several servers, authentication, the meaning of errors, and the
 * building of transactions.
 */
@NullMarked
package dev.holdfast.etcd.rpc;

import org.jspecify.annotations.NullMarked;
