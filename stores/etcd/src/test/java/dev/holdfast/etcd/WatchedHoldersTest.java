package dev.holdfast.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.etcd.config.EtcdUrl;
import dev.holdfast.etcd.rpc.EtcdChannels;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.Renewed.Reason;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * More holders than one transaction reads. Those whose keys are not read are believed to hold because they are watched,
 * but only while their watches have surely reported everything.
 */
class WatchedHoldersTest extends WithPlainServer {

    private static final int HELD = 130;

    private final Map<ClaimId, Reason> lost = new ConcurrentHashMap<>();
    private final List<Claim> holders = new ArrayList<>();
    private CountingClient client;
    private FaultyClient faulty;
    private LockStore store;

    @BeforeEach
    void openTheStoreAndHold() {
        EtcdUrl url = EtcdUrl.parse(server.url() + "?session=5m");
        faulty = new FaultyClient(EtcdChannels.open(url));
        client = new CountingClient(faulty);
        store = closing(EtcdLockStore.opened(client, url.options(), MonotonicClock.SYSTEM));
        store.watchLosses((of, id, reason) -> lost.put(id, reason));
        for (int i = 0; i < HELD; i++) {
            holders.add(alice.mutex(new LockName(name + "-" + i)));
            granted(store, holders.get(i));
        }
    }

    private void watchThem() {
        client.reset();
        assertThat(renewedAll()).allMatch(Granted.class::isInstance);
        awaitUntil(() -> client.started.get() == HELD);
        client.reset();
        assertThat(renewedAll()).allMatch(Granted.class::isInstance);
        assertThat(client.txns).as("they are watched now").hasValue(1);
        client.reset();
    }

    private List<Renewed> renewedAll() {
        return get(store.renew(holders));
    }

    private void deleteAll() {
        server.control("del", "--prefix", "holdfast/" + name);
    }

    private void assertAllBroken() {
        assertThat(renewedAll()).allMatch(new Renewed.Gone(Reason.RELEASED)::equals);
    }

    private void awaitAllLost() {
        awaitUntil(() -> lost.size() == HELD, "not all losses were reported");
    }

    @Test
    void streamThatHasBecomeSilentIsNotBelieved() {
        watchThem();
        faulty.silencesWatches = true;
        deleteAll();
        assertAllBroken();
        assertThat(lost).as("nothing was pushed").isEmpty();
    }

    // A server that receives nothing from the others any more answers from its memory, and so does a leader that was
    // deposed.
    @Test
    void watchesOnAServerThatLagsBehindAreNotBelieved() {
        watchThem();
        faulty.reportedUpTo = get(client.watchedUpTo());
        faulty.silencesWatches = true;
        deleteAll();
        assertAllBroken();
    }

    @Test
    void beatsThatAreAnsweredForALeaseThatIsGoneAreNotBelieved() {
        watchThem();
        faulty.silencesWatches = true;
        faulty.keepAliveAnswer = 300L;
        revokeLeaseOf(holders.get(0));
        assertThat(renewedAll()).allMatch(Renewed.Gone.class::isInstance);
    }

    @Test
    void revokedLeaseEndsAllOfThem() {
        watchThem();
        revokeLeaseOf(holders.get(0));
        awaitAllLost();
        assertThat(renewedAll()).allMatch(new Renewed.Gone(Reason.EXPIRED)::equals);
    }

    @Test
    void keysThatAreDeletedBeforeTheirWatchesBeginAreMissed() {
        List<Claim> readAtOnce = holders.subList(0, 60);
        faulty.beforeFirstWatch = this::deleteAll;
        assertThat(get(store.renew(readAtOnce))).as("they were there").allMatch(Granted.class::isInstance);
        awaitUntil(() -> lost.size() == readAtOnce.size());
        assertThat(lost).containsValue(Reason.RELEASED).doesNotContainValue(Reason.EXPIRED);
    }

    @Test
    void keysThatSomebodyDeletesAndPutsAgainAreLost() {
        watchThem();
        Claim one = holders.get(HELD - 1);
        String key = "holdfast/" + one.name() + "/"
                + server.control("get", "holdfast/" + one.name() + "/", "--prefix", "--keys-only")
                        .strip()
                        .replaceAll(".*/", "");
        server.control("del", key);
        server.control("put", key, "mine");
        awaitUntil(() -> lost.containsKey(one.id()));
        assertThat(get(store.renew(holders.subList(0, HELD - 1)))).allMatch(Granted.class::isInstance);
        assertThat(renewed(store, one)).isInstanceOf(Renewed.Gone.class);
    }

    @Test
    void watchWhoseReadHasFailedDoesNotCoverItsKey() {
        List<Claim> readAtOnce = holders.subList(0, 60);
        faulty.beforeFirstWatch = this::deleteAll;
        faulty.losesRequest = request -> request.getSuccessCount() == 1;
        assertThat(get(store.renew(readAtOnce))).as("they were there").allMatch(Granted.class::isInstance);
        awaitUntil(() -> client.started.get() == readAtOnce.size());
        faulty.losesRequest = request -> false;
        assertThat(lost).isEmpty();
        assertAllBroken();
    }

    @Test
    void watchesOfABrokenStreamAreMadeAgain() {
        watchThem();
        server.kill();
        server.startAgain();
        awaitUntil(() -> {
            client.reset();
            List<Renewed> answers = repaired(this::renewedAll);
            return answers.stream().allMatch(Granted.class::isInstance)
                    && client.asked.get() == 1
                    && client.txns.get() == 1;
        });
        deleteAll();
        awaitAllLost();
    }
}
