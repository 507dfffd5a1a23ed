package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockStore;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;

/** The server keeps a grant for at least as long as it says, by its own clock. */
class KeptLeaseTest extends WithServer {

    private static final Duration LEASE = Duration.ofMinutes(5);

    @Test
    void ofASoleHolder() {
        LockStore store = open("");
        Claim holder = alice.mutex(name).withLease(LEASE);
        assertKept(holder, () -> granted(store, holder));
        assertKept(holder, () -> (Granted) renewed(store, holder));
    }

    @Test
    void ofAHolderBehindWhomOthersWait() {
        LockStore store = open("?ticketTtl=5m");
        Claim holder = alice.mutex(name).withLease(LEASE);
        granted(store, holder);
        waiting(store, bob.mutex(name));
        assertKept(holder, () -> (Granted) renewed(store, holder));
    }

    @Test
    void ofSeveralHolders() {
        LockStore store = open("");
        Claim first = alice.claim(name, 1, 3).withLease(LEASE);
        Claim second = alice.claim(name, 1, 3).withLease(LEASE);
        granted(store, first);
        assertKept(second, () -> granted(store, second));
        assertKept(first, () -> (Granted) renewed(store, first));
    }

    private interface Request {
        Granted send();
    }

    private void assertKept(Claim claim, Request request) {
        try (Jedis jedis = server.connect()) {
            List<String> before = jedis.time();
            long sentAt = TimeUnit.SECONDS.toMicros(Long.parseLong(before.get(0))) + Long.parseLong(before.get(1));
            Granted told = request.send();
            String kept = jedis.hget("holdfast:{" + name + "}", claim.id().toString());
            long ends = Long.parseLong(kept.substring(0, kept.indexOf(' ')));
            assertThat(told.lease()).isPositive();
            assertThat(ends - sentAt)
                    .as("microseconds from before the request to the end that the server keeps: %s", kept)
                    .isGreaterThanOrEqualTo(
                            TimeUnit.NANOSECONDS.toMicros(told.lease().toNanos()));
        }
    }
}
