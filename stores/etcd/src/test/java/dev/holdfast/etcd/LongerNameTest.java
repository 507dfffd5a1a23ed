package dev.holdfast.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.holdfast.etcd.config.EtcdUrl;
import dev.holdfast.etcd.rpc.EtcdChannels;
import dev.holdfast.etcd.rpc.EtcdClient;
import dev.holdfast.etcd.rpc.Txns;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import dev.holdfast.testkit.RecordingListener;
import io.etcd.jetcd.api.TxnRequest;
import org.junit.jupiter.api.Test;

/** Keys of a longer name that another program has put lie in the range of a shorter name, and are not in its queue. */
class LongerNameTest extends WithPlainServer {

    /** More than the answer to an attempt has. */
    private static final int MANY = 40;

    /** Before, the oldest key of the range was taken for the queue, which then seemed to be empty. */
    @Test
    void attemptFindsTheHolderBehindManyOfThem() {
        LockStore store = open("?prefix=");
        LockStore other = open("?prefix=");
        putLongerNames();
        Claim holder = alice.mutex(name);
        awaitGrant(enqueued(other, holder));
        busy(store, bob.mutex(name));
        RecordingListener waiter = waiting(store, bob.mutex(name));
        assertThat(released(other, holder)).isTrue();
        awaitGrant(waiter);
        assertThat(holders(store, name)).hasSize(1);
    }

    @Test
    void attemptIsGrantedBesideThem() {
        LockStore store = open("?prefix=");
        putLongerNames();
        granted(store, alice.mutex(name));
        busy(store, bob.mutex(name));
    }

    private void putLongerNames() {
        TxnRequest.Builder request = TxnRequest.newBuilder();
        for (int i = 0; i < MANY; i++) {
            request.addSuccess(Txns.put(ByteString.copyFromUtf8(name + "/b/" + i), ByteString.EMPTY, 0));
        }
        try (EtcdClient client = EtcdChannels.open(EtcdUrl.parse(server.url()))) {
            get(client.txn(request.build(), true));
        }
    }
}
