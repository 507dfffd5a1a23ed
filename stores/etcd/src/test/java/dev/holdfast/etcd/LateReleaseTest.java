package dev.holdfast.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.etcd.config.EtcdOptions;
import dev.holdfast.etcd.config.EtcdUrl;
import dev.holdfast.etcd.rpc.EtcdChannels;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A release that is executed late, when a later claim of the same client has the key of the released one, ends nothing. */
class LateReleaseTest extends WithPlainServer {

    private FaultyClient client;
    private LockStore store;

    @BeforeEach
    void openTheStore() {
        client = new FaultyClient(EtcdChannels.open(EtcdUrl.parse(server.url())));
        store = closing(EtcdLockStore.opened(client, EtcdOptions.parse("session=60s"), MonotonicClock.SYSTEM));
    }

    @Test
    void ofTheHolder() {
        Claim first = alice.mutex(name);
        granted(store, first);
        String key = keyOf(first);
        client.holdsBack = FaultyClient::deletes;
        failure(store.release(first));
        client.holdsBack = request -> false;
        assertThat(released(store, first.again())).isTrue();
        Claim second = alice.mutex(name);
        granted(store, second);
        assertStillHolds(second, key);
    }

    /** Another client breaks the lock: it reads the claim, and deletes the key in a second request. */
    @Test
    void ofSomebodyElse() {
        LockStore other = open("?session=60s");
        Claim first = alice.mutex(name);
        granted(other, first);
        String key = keyOf(first);
        client.holdsBack = FaultyClient::deletes;
        failure(store.release(first));
        assertThat(released(other, first)).isTrue();
        Claim second = alice.mutex(name);
        granted(other, second);
        assertStillHolds(second, key);
    }

    private void assertStillHolds(Claim second, String key) {
        assertThat(keyOf(second)).as("the key of the later claim").isEqualTo(key);
        assertThat(client.heldBack()).isEqualTo(1);
        client.deliver();
        assertThat(holders(store, name)).extracting(Claim::id).containsExactly(second.id());
    }

    private String keyOf(Claim claim) {
        var lines = server.control("get", "holdfast/" + claim.name() + "/", "--prefix")
                .lines()
                .toList();
        return lines.get(lines.indexOf(claim.id().toString()) - 2);
    }
}
