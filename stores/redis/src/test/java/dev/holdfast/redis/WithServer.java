package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.RecordingListener;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;

/** A server for each test, stores on it, and short words for what is done with them. */
@Timeout(120)
abstract class WithServer {

    static final Duration LONG = Duration.ofMinutes(10);

    final Claimant alice = new Claimant("alice", LONG);
    final Claimant bob = new Claimant("bob", LONG);
    final LockName name = new LockName("test-" + UUID.randomUUID());
    RedisServer server = RedisServer.start("--appendonly", "yes");
    private final List<LockStore> opened = new ArrayList<>();

    @AfterEach
    void end() {
        server.signal("CONT");
        opened.forEach(LockStore::close);
        server.close();
    }

    LockStore open(String options) {
        return openUrl(server.url() + options);
    }

    LockStore openUrl(String url) {
        LockStore store = new RedisLockStoreProvider().open(url, MonotonicClock.SYSTEM);
        opened.add(store);
        return store;
    }

    static <T> T get(CompletionStage<T> stage) {
        try {
            return stage.toCompletableFuture().join();
        } catch (CompletionException failure) {
            if (failure.getCause() instanceof StoreException ours) {
                throw ours;
            }
            throw failure;
        }
    }

    static StoreException failure(CompletionStage<?> stage) {
        try {
            return fail("should have failed, but gave " + get(stage));
        } catch (StoreException failure) {
            return failure;
        }
    }

    static StoreException failure(RecordingListener listener) {
        awaitUntil(listener::hasHeard);
        return listener.first(RecordingListener.Event.Failed.class)
                .orElseThrow(() -> new AssertionError(listener.toString()))
                .cause();
    }

    static Attempt.Granted granted(LockStore store, Claim claim) {
        Attempt attempt = get(store.tryAcquire(claim));
        assertThat(attempt).isInstanceOf(Attempt.Granted.class);
        return (Attempt.Granted) attempt;
    }

    static Renewed renewed(LockStore store, Claim claim) {
        return get(store.renew(List.of(claim))).get(0);
    }

    static RecordingListener waiting(LockStore store, Claim claim) {
        RecordingListener listener = new RecordingListener();
        store.enqueue(claim, listener);
        awaitUntil(listener::hasHeard);
        assertThat(listener.events()).allMatch(RecordingListener.Event.Waiting.class::isInstance);
        return listener;
    }

    static void awaitGrant(RecordingListener listener) {
        awaitUntil(() -> listener.outcome().isPresent());
        assertThat(listener.outcome()).get().isInstanceOf(RecordingListener.Event.Granted.class);
        listener.checkContract();
    }

    static void awaitUntil(BooleanSupplier condition) {
        long deadline = System.nanoTime() + Duration.ofSeconds(20).toNanos();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - deadline).as("waited for too long").isNegative();
            pause(1);
        }
    }

    static void pause(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException failure) {
            throw new AssertionError(failure);
        }
    }
}
