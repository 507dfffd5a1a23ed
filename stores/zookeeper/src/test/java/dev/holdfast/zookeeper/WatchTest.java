package dev.holdfast.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed.Reason;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.RecordingListener.Event;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.Test;

/** Which watches there are, at the client and at the server, and what their events are worth. */
class WatchTest extends WithServer {

    private static final int MANY = 100;

    private final LockStore other = open();

    @Test
    void waitsThatEndWithoutTheLockLeaveNoWatchAtTheClient() throws Exception {
        CuratorFramework client = curator();
        LockStore store = closing(ZooKeeperLockStore.over(client));
        List<LockName> names = List.of(new LockName(name + "-1"), new LockName(name + "-2"), new LockName(name + "-3"));
        granted(other, bob.mutex(names.get(0)));
        granted(other, bob.write(names.get(1)));
        granted(other, bob.claim(names.get(2), 5, 5));
        for (int i = 0; i < MANY; i++) {
            waitInVain(store, alice.mutex(names.get(0)));
            waitInVain(store, alice.read(names.get(1)));
            waitInVain(store, alice.write(names.get(1)));
            waitInVain(store, alice.claim(names.get(2), 1, 5));
        }
        awaitUntil(() -> watchers(client) == 0);
    }

    @Test
    void waitsThatEndWithoutTheLockLeaveNoWatchAtTheServer() {
        LockStore store = open();
        List<LockName> names = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            names.add(new LockName(name + "-" + i));
            granted(other, bob.mutex(names.get(i)));
        }
        int before = ServerStatus.watches(server().port());
        for (LockName busy : names) {
            waitInVain(store, alice.mutex(busy));
        }
        // Clients of other tests may end meanwhile.
        awaitUntil(() -> ServerStatus.watches(server().port()) <= before);
    }

    @Test
    void waiterThatGivesUpTakesNobodyElsesWatchAlong() {
        LockStore store = open();
        Claim writer = bob.write(name);
        granted(other, writer);
        RecordingListener first = waiting(store, alice.read(name));
        RecordingListener second = waiting(store, alice.read(name));
        for (int i = 0; i < MANY; i++) {
            waitInVain(store, alice.read(name));
        }
        released(other, writer);
        awaitGrant(first);
        awaitGrant(second);
    }

    @Test
    void waiterThatGivesUpLeavesTheUsersOwnWatchAlone() throws Exception {
        CuratorFramework client = curator();
        LockStore store = closing(ZooKeeperLockStore.over(client));
        Claim holder = bob.mutex(name);
        granted(other, holder);
        CompletableFuture<String> deleted = new CompletableFuture<>();
        String path = "/holdfast/" + name + "/" + nodes(client, name).get(0);
        client.getData()
                .usingWatcher((org.apache.zookeeper.Watcher) event -> {
                    if (event.getType() == org.apache.zookeeper.Watcher.Event.EventType.NodeDeleted) {
                        deleted.complete(event.getPath());
                    }
                })
                .forPath(path);
        waitInVain(store, alice.mutex(name));
        awaitUntil(() -> watchers(client) == 1);
        released(other, holder);
        assertThat(deleted.get(20, TimeUnit.SECONDS)).isEqualTo(path);
    }

    @Test
    void holderThatReleasesLeavesNoWatch() throws Exception {
        CuratorFramework client = curator();
        LockStore store = closing(ZooKeeperLockStore.over(client));
        for (Claim claim : List.of(alice.mutex(name), alice.write(name), alice.claim(name, 2, 5))) {
            granted(store, claim);
            renewed(store, claim);
            assertThat(watchers(client)).isEqualTo(1);
            assertThat(released(store, claim)).isTrue();
            awaitUntil(() -> watchers(client) == 0);
        }
    }

    /**
     * After a reconnect the server sends what it has missed in any order. The node ahead is deleted after the own one here,
     * so that its deletion is no grant. With so many names the events of some come in the wrong order.
     */
    @Test
    void deletionThatIsHeardOfAfterAReconnectIsNoGrantIfTheOwnNodeWasDeletedBefore() {
        Proxy proxy = proxy();
        // The session outlives all that happens while its client is away.
        LockStore store = openUrl("zookeeper://" + proxy.hosts() + "?sessionTimeout=60s");
        List<Claim> holders = new ArrayList<>();
        List<Claim> waiters = new ArrayList<>();
        List<RecordingListener> listeners = new ArrayList<>();
        for (int i = 0; i < MANY; i++) {
            LockName one = new LockName(name + "-" + i);
            holders.add(bob.mutex(one));
            granted(other, holders.get(i));
            waiters.add(alice.mutex(one));
            listeners.add(waiting(store, waiters.get(i)));
        }
        // Its reply arrives after those of the watches.
        renewed(store, waiters.get(0));
        proxy.cut();
        for (int i = 0; i < MANY; i++) {
            assertThat(released(other, waiters.get(i).again())).isTrue();
            assertThat(released(other, holders.get(i))).isTrue();
        }
        proxy.resume();
        for (RecordingListener listener : listeners) {
            awaitUntil(() -> listener.outcome().isPresent());
        }
        assertThat(listeners)
                .allSatisfy(listener -> assertThat(listener.outcome()).contains(new Event.Ended(Reason.RELEASED)));
    }

    /** The usual hand-off still needs no request after a reconnect, once the waiter has asked again. */
    @Test
    void deletionThatIsHeardOfAfterAReconnectIsAGrantIfTheOwnNodeIsThere() {
        Proxy proxy = proxy();
        LockStore store = open(proxy.hosts());
        Claim holder = bob.mutex(name);
        granted(other, holder);
        Claim waiter = alice.mutex(name);
        RecordingListener listener = waiting(store, waiter);
        renewed(store, waiter);
        proxy.cut();
        released(other, holder);
        proxy.resume();
        awaitGrant(listener);
        busy(other, bob.mutex(name));
    }

    private static void waitInVain(LockStore store, Claim claim) {
        waiting(store, claim);
        assertThat(released(store, claim)).isTrue();
    }

    /** The number of watchers in the client's tables. */
    static int watchers(CuratorFramework client) {
        try {
            Method method = ZooKeeper.class.getDeclaredMethod("getWatchManager");
            method.setAccessible(true);
            Object table = method.invoke(client.getZookeeperClient().getZooKeeper());
            int count = 0;
            for (String kind : List.of("getDataWatches", "getExistWatches", "getChildWatches")) {
                Method watches = table.getClass().getDeclaredMethod(kind);
                watches.setAccessible(true);
                @SuppressWarnings("unchecked")
                Map<String, Set<?>> byPath = (Map<String, Set<?>>) watches.invoke(table);
                synchronized (byPath) {
                    count += byPath.values().stream().mapToInt(Set::size).sum();
                }
            }
            return count;
        } catch (Exception failure) {
            throw new AssertionError(failure);
        }
    }
}
