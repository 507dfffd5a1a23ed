package dev.holdfast.zookeeper;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import dev.holdfast.testkit.law.SessionLaws;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

/** The laws of sessions on a real server. */
class ZooKeeperSessionLawsTest extends SessionLaws {

    private final Map<LockStore, EndableSession> sessions = new HashMap<>();

    @Override
    protected int port() {
        return WithServer.server().port();
    }

    @Override
    protected LockStore open(String address, Duration session) {
        int port = Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
        EndableSession endable = closing(new EndableSession(port, session));
        LockStore store = closing(ZooKeeperLockStore.over(endable.client()));
        sessions.put(store, endable);
        return store;
    }

    @Override
    protected void endSession(LockStore store, Claim claim) {
        try {
            sessions.get(store).end();
        } catch (Exception failure) {
            throw new AssertionError("The session could not be ended", failure);
        }
    }
}
