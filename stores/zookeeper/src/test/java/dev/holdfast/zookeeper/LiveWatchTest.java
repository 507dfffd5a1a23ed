package dev.holdfast.zookeeper;

import static dev.holdfast.zookeeper.Proxy.only;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.Renewed.Reason;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.Watcher.WatcherType;
import org.junit.jupiter.api.Test;

/** A renewal believes in a node that it does not read, and only if the watch on it would have told of its end. */
class LiveWatchTest extends WithServer {

    private static final Renewed BROKEN = new Renewed.Gone(Reason.RELEASED);

    private final Proxy proxy = proxy();
    private final LockStore other = open();

    private List<Claim> watched(LockStore store, int number) {
        List<Claim> claims = IntStream.range(0, number)
                .mapToObj(i -> alice.mutex(new LockName(name + "-" + i)))
                .toList();
        claims.forEach(claim -> granted(store, claim));
        get(store.renew(claims));
        proxy.reset();
        return claims;
    }

    /** The event is still on its way when the renewal is sent, and arrives before its answer. */
    @Test
    void nodeThatWasDeletedBeforeTheRenewalIsNotBelieved() {
        LockStore store = open(proxy.hosts());
        List<Claim> claims = watched(store, 3);
        proxy.delay(Duration.ofMillis(200));
        released(other, claims.get(1).again());
        List<Renewed> answers = get(store.renew(claims));
        assertThat(answers.get(0)).isInstanceOf(Granted.class);
        assertThat(answers.get(1)).isEqualTo(BROKEN);
        assertThat(answers.get(2)).isInstanceOf(Granted.class);
    }

    @Test
    void afterAReconnectEachNodeIsReadAgain() {
        LockStore store = open(proxy.hosts());
        List<Claim> claims = watched(store, 20);
        proxy.cut();
        released(other, claims.get(7).again());
        CompletionStage<List<Renewed>> whileAway = store.renew(claims);
        proxy.resume();
        // If it was sent on the broken connection it fails. It believes in nothing else than what is there.
        List<Renewed> early = get(whileAway.exceptionally(unanswered -> List.of()));
        assertThat(early.size() > 7 && early.get(7) instanceof Granted).isFalse();
        List<Renewed> answers = repaired(() -> get(store.renew(claims)));
        assertThat(answers.get(7)).isEqualTo(BROKEN);
        assertThat(answers).filteredOn(Granted.class::isInstance).hasSize(19);
        List<Claim> left = new ArrayList<>(claims);
        left.remove(7);
        // A client that hears late of the break lists the nodes first, and only then reads them, behind the answer.
        // They are read before the next renewal, because requests arrive in order.
        assertThat(get(store.renew(left))).allMatch(Granted.class::isInstance);
        assertThat(proxy.counts().get("getData")).isGreaterThanOrEqualTo(19);
        proxy.reset();
        assertThat(get(store.renew(left))).allMatch(Granted.class::isInstance);
        assertThat(proxy.counts()).isEqualTo(only("multi", 1));
    }

    /** Who shares the session may remove all watches of a node. */
    @Test
    void watchThatOthersHaveRemovedIsNotBelieved() throws Exception {
        CuratorFramework client = curator();
        LockStore store = closing(ZooKeeperLockStore.over(client));
        Claim claim = watched(store, 1).get(0);
        String path =
                "/holdfast/" + claim.name() + "/" + nodes(client, claim.name()).get(0);
        client.getZookeeperClient().getZooKeeper().removeAllWatches(path, WatcherType.Any, false);
        released(other, claim.again());
        assertThat(renewed(store, claim)).isEqualTo(BROKEN);
    }

    /** A change of the data uses up the watch, so that it must be set again before the next renewal is believed. */
    @Test
    void watchThatAChangeHasUsedUpIsNotBelieved() throws Exception {
        LockStore store = open(proxy.hosts());
        Claim claim = watched(store, 1).get(0);
        CuratorFramework client = curator();
        String path =
                "/holdfast/" + claim.name() + "/" + nodes(client, claim.name()).get(0);
        proxy.delay(Duration.ofMillis(50));
        client.setData().forPath(path, new byte[0]);
        released(other, claim.again());
        assertThat(renewed(store, claim)).isEqualTo(BROKEN);
    }
}
