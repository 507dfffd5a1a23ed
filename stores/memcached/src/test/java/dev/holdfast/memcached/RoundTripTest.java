package dev.holdfast.memcached;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.testkit.process.MemcachedServer;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The commands that are sent, and which of them wait for no answer, as a proxy between client and server sees them. */
class RoundTripTest extends WithServer {

    @AutoClose
    private static MemcachedServer server = MemcachedServer.start();

    private LossyProxy proxy;
    private LockStore store;

    @BeforeEach
    void openTheStore() {
        proxy = closing(new LossyProxy(server.port()));
        store = open(proxy.url());
        proxy.commands();
    }

    @Test
    void freeLockIsAcquiredAndReleasedInOneTripEach() {
        Claim claim = alice.mutex(name);
        proxy.answerAfter("gets ");
        granted(store, claim);
        assertThat(proxy.commands()).isEqualTo("add gets");
        assertThat(released(store, claim)).isTrue();
        assertThat(proxy.commands()).isEqualTo("cas");
    }

    @Test
    void heldLockIsFoundBusyInOneTrip() {
        granted(store, alice.mutex(name));
        LockStore other = open(proxy.url());
        proxy.commands();
        proxy.answerAfter("gets ");
        busy(other, bob.mutex(name));
        assertThat(proxy.commands()).isEqualTo("add gets");
    }

    @Test
    void renewalIsOneTripForAllNames() {
        List<Claim> claims = IntStream.range(0, 20)
                .mapToObj(i -> alice.mutex(new LockName(name + "-" + i)))
                .toList();
        claims.forEach(claim -> granted(store, claim));
        proxy.commands();
        proxy.answerAfter("cas holdfast:" + name + "-19 ");
        assertThat(get(store.renew(claims))).allMatch(Granted.class::isInstance);
        assertThat(proxy.commands().split(" ")).hasSize(40).containsOnly("cas", "gets");
    }

    @Test
    void renewedLockIsReleasedInOneTrip() {
        Claim claim = alice.mutex(name);
        granted(store, claim);
        renewed(store, claim);
        proxy.commands();
        assertThat(released(store, claim)).isTrue();
        assertThat(proxy.commands()).isEqualTo("cas");
    }

    @Test
    void readersJoinInTwoTripsAndLeaveInTwo() {
        LockStore other = open(proxy.url());
        Claim first = alice.read(name);
        granted(store, first);
        proxy.commands();
        Claim second = bob.read(name);
        granted(other, second);
        assertThat(proxy.commands()).isEqualTo("add gets cas gets");
        assertThat(released(store, first)).as("the record has changed since").isTrue();
        assertThat(proxy.commands()).isEqualTo("cas gets cas gets");
        assertThat(released(other, second)).isTrue();
        assertThat(proxy.commands()).isEqualTo("cas gets cas");
    }

    @Test
    void inspectionIsOneTrip() {
        granted(store, alice.mutex(name));
        proxy.commands();
        assertThat(holders(store, name)).hasSize(1);
        assertThat(proxy.commands()).isEqualTo("gets");
    }
}
