package dev.holdfast.zookeeper;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import dev.holdfast.testkit.law.SessionLaws;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.apache.curator.framework.CuratorFramework;

/** The laws of sessions on a real server. */
class ZooKeeperSessionLawsTest extends SessionLaws {

    private final Map<LockStore, CuratorFramework> clients = new HashMap<>();

    @Override
    protected int port() {
        return WithServer.server().port();
    }

    @Override
    protected LockStore open(String address, Duration session) {
        CuratorFramework client = closing(Clients.started(address, session));
        LockStore store = closing(ZooKeeperLockStore.over(client));
        clients.put(store, client);
        return store;
    }

    @Override
    protected void endSession(LockStore store, Claim claim) {
        try {
            SessionTest.expire(clients.get(store));
        } catch (Exception failure) {
            throw new AssertionError("The session could not be ended", failure);
        }
    }
}
