package dev.holdfast.etcd;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.law.SessionLaws;
import java.time.Duration;
import org.junit.jupiter.api.AutoClose;

/** The laws of sessions on a real server. */
class EtcdSessionLawsTest extends SessionLaws {

    @AutoClose
    private static final EtcdServer SERVER = EtcdServer.start();

    @Override
    protected int port() {
        return SERVER.port();
    }

    @Override
    protected LockStore open(String address, Duration session) {
        String url = "etcd://" + address + "?session=" + session.toSeconds() + "s";
        return closing(new EtcdLockStoreProvider().open(url, MonotonicClock.SYSTEM));
    }

    @Override
    protected void endSession(LockStore store, Claim claim) {
        SERVER.revokeLeaseOf(claim);
    }
}
