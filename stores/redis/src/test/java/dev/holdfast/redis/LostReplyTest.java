package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.RecordingListener;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.Jedis;

/** A connection that breaks at each step: before the request has arrived, and after it was executed. */
class LostReplyTest extends WithDouble {

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void eachVerbIsUnknownAndRepairedByRepeating(boolean done) {
        LockStore store = warmed();
        Claim claim = alice.mutex(name);
        breakAt("EVALSHA", done);
        assertUnknown(store.tryAcquire(claim));
        long counter = granted(store, claim.again()).counter();
        breakAt("EVALSHA", done);
        assertUnknown(store.renew(List.of(claim)));
        assertThat(renewed(store, claim))
                .isInstanceOfSatisfying(
                        Granted.class, held -> assertThat(held.counter()).isEqualTo(counter));
        breakAt("EVALSHA", done);
        assertUnknown(store.inspect(name));
        breakAt("EVALSHA", done);
        assertUnknown(store.release(claim));
        assertThat(get(store.release(claim.again())).wasOwner()).isEqualTo(!done);
        List<Claim> several = List.of(alice.mutex(name), alice.mutex(new LockName(name + "-2")));
        breakAt("EVALSHA", done);
        assertUnknown(store.tryAcquireAll(several));
        several.forEach(one -> get(store.release(one.again())));
        commands.deliver();
        assertThat(get(store.tryAcquire(claim))).as("a late copy").isInstanceOf(Attempt.Busy.class);
        assertFree(store);
        assertThat(granted(store, bob.mutex(name)).counter()).isGreaterThan(counter);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void waiterWhoseEnqueueIsUnknownLeavesNothing(boolean done) {
        LockStore store = warmed();
        Claim holder = alice.mutex(name);
        granted(store, holder);
        Claim waiter = bob.mutex(name);
        breakAt("EVALSHA", done);
        RecordingListener listener = new RecordingListener();
        store.enqueue(waiter, listener);
        assertThat(failure(listener).effect()).isEqualTo(Effect.UNKNOWN);
        // It keeps the position that it had, if it had one.
        RecordingListener again = waiting(store, waiter.again());
        assertThat(get(store.inspect(name)).orElseThrow().waiters()).hasSize(1);
        breakAt("EVALSHA", done);
        assertUnknown(store.release(waiter.again()));
        get(store.release(waiter.again()));
        commands.deliver();
        assertThat(get(store.inspect(name)).orElseThrow().waiters()).isEmpty();
        get(store.release(holder));
        assertThat(again.first(RecordingListener.Event.Granted.class)).isEmpty();
        assertFree(store);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void subscriptionThatBreaksWhileItIsMadeLeavesNothing(boolean done) {
        LockStore store = warmed();
        Claim holder = alice.mutex(name);
        granted(store, holder);
        breakAt("SUBSCRIBE", done);
        Claim waiter = bob.mutex(name);
        RecordingListener listener = new RecordingListener();
        store.enqueue(waiter, listener);
        awaitUntil(listener::wasNotified);
        if (listener.first(RecordingListener.Event.Failed.class).isPresent()) {
            assertThat(failure(listener).effect())
                    .as("no position was requested")
                    .isEqualTo(Effect.NONE);
            assertThat(get(store.inspect(name)).orElseThrow().waiters()).isEmpty();
            listener = waiting(store, waiter);
        }
        try (Jedis jedis = server.connect()) {
            awaitUntil(() -> jedis.pubsubChannels().size() == 1);
            get(open("").release(holder));
            awaitGrant(listener);
            get(store.release(waiter));
            store.close();
            awaitUntil(() -> jedis.pubsubChannels().isEmpty());
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void locksOfTheApiAreRepairedByTheEngine(boolean done) throws InterruptedException {
        try (Holdfast locks = Holdfast.connect("redis://" + commands.address())) {
            DistributedLock lock = locks.lock(name.value());
            lock.lock();
            lock.unlock();
            for (int i = 0; i < 5; i++) {
                breakAt("EVALSHA", done);
                lock.lock();
                assertThat(locks.state(name.value()).orElseThrow().holders()).hasSize(1);
                breakAt("EVALSHA", done);
                lock.unlock();
                commands.deliver();
                awaitUntil(() -> locks.state(name.value())
                        .map(state ->
                                state.holders().isEmpty() && state.waiters().isEmpty())
                        .orElse(true));
            }
            breakAt("EVALSHA", done);
            try (Lease lease = lock.acquire()) {
                breakAt("EVALSHA", done);
                try {
                    lease.extend(LONG);
                } catch (StoreUnavailableException inDoubt) {
                    assertThat(inDoubt).hasMessageContaining("was not extended");
                    lease.extend(LONG);
                }
                assertThat(lease.remaining()).isGreaterThan(LONG.minusMinutes(1));
            }
        }
    }

    @Test
    void waiterOfTheApiIsServedThoughItsRequestsAreLost() throws Exception {
        try (Holdfast locks = Holdfast.connect("redis://" + commands.address() + "?ticketTtl=1s");
                Holdfast others = Holdfast.connect(server.url())) {
            locks.lock(name + "-warm").acquire().close();
            Lease held = others.lock(name.value()).acquire();
            breakAt("EVALSHA", true);
            var waiting = locks.lock(name.value()).acquireAsync();
            awaitUntil(() -> !others.state(name.value()).orElseThrow().waiters().isEmpty());
            commands.loseReplyTo("EVALSHA");
            held.close();
            waiting.get(20, TimeUnit.SECONDS).close();
            awaitUntil(() -> others.state(name.value())
                    .map(state -> state.holders().isEmpty() && state.waiters().isEmpty())
                    .orElse(true));
        }
    }

    private void breakAt(String command, boolean done) {
        if (done) {
            commands.loseReplyTo(command);
        } else {
            commands.keepBack(command);
        }
    }

    // Makes the scripts known to the server, so that no call is sent twice.
    private LockStore warmed() {
        LockStore store = openUrl("redis://" + commands.address() + "?ticketTtl=1m");
        Claim warm = alice.mutex(new LockName(name + "-warm"));
        granted(store, warm);
        renewed(store, warm);
        get(store.inspect(warm.name()));
        get(store.release(warm.again()));
        Claim other = alice.mutex(warm.name());
        get(store.tryAcquireAll(List.of(other)));
        get(store.release(other));
        RecordingListener listener = new RecordingListener();
        LockStore elsewhere = open("");
        elsewhere.enqueue(other, listener);
        awaitUntil(listener::wasNotified);
        get(elsewhere.release(other.again()));
        elsewhere.close();
        return store;
    }

    private static void assertUnknown(CompletionStage<?> call) {
        StoreException failure = failure(call);
        assertThat(failure.effect()).isEqualTo(Effect.UNKNOWN);
        assertThat(failure.retryable()).isTrue();
    }

    private void assertFree(LockStore store) {
        Optional<ResourceState> state = get(store.inspect(name));
        assertThat(state.stream())
                .allMatch(left -> left.holders().isEmpty() && left.waiters().isEmpty());
    }
}
