package dev.holdfast.etcd;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.StoreTest;
import java.util.List;

/** Base class of tests that open stores on a server of their own. */
abstract class WithServer extends StoreTest {

    abstract EtcdServer server();

    LockStore open(String options) {
        return openUrl(server().url() + options);
    }

    LockStore openUrl(String url) {
        return closing(new EtcdLockStoreProvider().open(url, MonotonicClock.SYSTEM));
    }

    /** Revokes the lease that a claim's key is attached to, as if the client had died. */
    void revokeLeaseOf(Claim claim) {
        List<String> lines = server().control("get", "holdfast/" + claim.name() + "/", "--prefix")
                .lines()
                .toList();
        String key = lines.get(lines.indexOf(claim.id().toString()) - 2);
        String rest = key.substring(key.lastIndexOf('/') + 1);
        server().control("lease", "revoke", rest.replaceAll("-.*", ""));
    }
}
