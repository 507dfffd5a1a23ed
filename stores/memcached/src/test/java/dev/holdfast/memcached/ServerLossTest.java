package dev.holdfast.memcached;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.LossReason;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.process.MemcachedServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What is lost when the server forgets: by a restart, by {@code flush_all}, and by eviction for want of memory. */
class ServerLossTest extends WithServer {

    private static MemcachedServer started(String... settings) {
        return MemcachedServer.start(settings);
    }

    @Test
    void restartFreesLocksAndTokensStillGrow() {
        MemcachedServer server = closing(started());
        LockStore store = open(server.url());
        Claim held = alice.mutex(name);
        long counter = granted(store, held).counter();
        server.kill();
        assertThat(failure(store.renew(List.of(held))).retryable()).isTrue();
        server.startAgain();
        assertThat(repaired(() -> renewed(store, held))).isEqualTo(new Renewed.Gone(Renewed.Reason.EXPIRED));
        assertThat(granted(store, bob.mutex(name)).counter()).isGreaterThan(counter);
    }

    @Test
    void tokensGrowThroughQuickRestartsWithManyWrites() {
        MemcachedServer server = closing(started());
        long last = 0;
        for (int restart = 0; restart < 4; restart++) {
            LockStore store = open(server.url());
            for (int i = 0; i < 500; i++) {
                Claim claim = alice.mutex(name);
                long counter = granted(store, claim).counter();
                assertThat(counter).isGreaterThan(last);
                last = counter;
                released(store, claim);
            }
            server.kill();
            server.startAgain();
        }
    }

    // The new process numbers values from one again, so the number that was seen before may be that of a value of
    // somebody else.
    @Test
    void numbersOfTheOldProcessAreNotUsedInTheNewOne() {
        MemcachedServer server = closing(started());
        LockStore store = open(server.url());
        Claim held = alice.mutex(name);
        granted(store, held);
        server.kill();
        server.startAgain();
        LockStore other = open(server.url());
        Claim others = bob.mutex(name);
        granted(other, others);
        assertThat(repaired(() -> released(store, held))).isFalse();
        assertThat(repaired(() -> renewed(store, held))).isInstanceOf(Renewed.Gone.class);
        assertThat(holders(other, name)).extracting(Claim::id).containsExactly(others.id());
    }

    @Test
    void flushedLockIsFreeAndTokensStillGrow() {
        MemcachedServer server = closing(started());
        LockStore store = open(server.url());
        Claim held = alice.mutex(name);
        long counter = granted(store, held).counter();
        server.ask("flush_all", "OK");
        assertThat(renewed(store, held)).isEqualTo(new Renewed.Gone(Renewed.Reason.EXPIRED));
        assertThat(granted(store, bob.mutex(name)).counter()).isGreaterThan(counter);
    }

    @Test
    void evictionFreesALockTheHolderNoticesAndTokensStillGrow() {
        MemcachedServer server = closing(started("-m", "2", "-o", "no_lru_maintainer"));
        LockStore store = open(server.url());
        List<Claim> held = new ArrayList<>();
        long last = 0;
        for (int i = 0; i < 20; i++) {
            Claim claim = alice.mutex(new LockName(name + "-000" + i));
            held.add(claim);
            last = granted(store, claim).counter();
        }
        evict(server, store);
        List<Renewed> answers = get(store.renew(held));
        assertThat(answers).as("%d evictions", server.stat("evictions")).anyMatch(Renewed.Gone.class::isInstance);
        for (int i = 0; i < held.size(); i++) {
            if (answers.get(i) instanceof Renewed.Gone) {
                Claim next = bob.mutex(held.get(i).name());
                assertThat(granted(store, next).counter()).isGreaterThan(last);
            }
        }
    }

    // Locks of others of the same size push out the oldest ones, as a cache on the same server would.
    private void evict(MemcachedServer server, LockStore store) {
        int made = 0;
        while (server.stat("evictions") < 500) {
            assertThat(made).as("locks without eviction").isLessThan(200_000);
            for (int i = 0; i < 500; i++) {
                get(store.tryAcquire(bob.mutex(new LockName(name + "-x" + made++))));
            }
        }
    }

    @Test
    void withoutEvictionAFullServerRefusesAndKeepsWhatIsHeld() {
        MemcachedServer server = closing(started("-M", "-m", "2"));
        LockStore store = open(server.url());
        Claim held = alice.mutex(name);
        granted(store, held);
        StoreException full = null;
        for (int i = 0; full == null; i++) {
            assertThat(i).as("locks in a server of 2 MB").isLessThan(200_000);
            try {
                get(store.tryAcquire(bob.mutex(new LockName("other-" + i))));
            } catch (StoreException refused) {
                full = refused;
            }
        }
        assertThat(full.effect()).isEqualTo(StoreException.Effect.NONE);
        assertThat(full).hasMessageContaining("no memory left").hasMessageContaining("-m");
        assertThat(server.stat("evictions")).isZero();
        busy(store, bob.mutex(name));
        assertThat(holders(store, name)).extracting(Claim::id).containsExactly(held.id());
    }

    @Test
    void holderIsNotifiedOfTheLossAtItsNextRenewal() throws Exception {
        MemcachedServer server = closing(started());
        try (Holdfast locks = Holdfast.connect(server.url())) {
            LockOptions brief = LockOptions.defaults().withLease(Duration.ofSeconds(3));
            Lease lease = locks.lock(name.value(), brief).acquire();
            CompletableFuture<LossReason> lost = new CompletableFuture<>();
            lease.onLost(lost::complete);
            server.ask("flush_all", "OK");
            assertThat(lost.get(20, TimeUnit.SECONDS)).isEqualTo(LossReason.EXPIRED);
        }
    }
}
