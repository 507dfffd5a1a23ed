package dev.holdfast.engine;

import dev.holdfast.Engines;
import dev.holdfast.Holdfast;
import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.testkit.fault.CountingStore;
import dev.holdfast.testkit.fault.FaultyStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;

/**
 * Two clients of one store in memory, on a clock that stands still. The requests of {@link #locks} are counted and
 * can be lost on their way. For the store, {@link #rival} is another process.
 *
 * <p>After every test all clients are closed. Then nothing may be left in the store.
 */
abstract class EngineFixture {

    /** The default lease. */
    static final Duration LEASE = Duration.ofSeconds(30);

    /** The longest time for which a grant is passed on inside the JVM. After it a waiter enters the store's queue. */
    static final Duration HAND_OFF_TIME = Duration.ofMillis(10);

    private static final Duration CLOSING_STEP = Duration.ofMillis(20);
    private static final Duration STEP = Duration.ofMillis(500);

    final EngineClock clock = new EngineClock();
    final MemoryLockStore memory = new MemoryLockStore(clock);
    final FaultyStore network = new FaultyStore(memory).delayOn(clock::after);
    final CountingStore store = new CountingStore(network);

    private final List<Holdfast> clients = new ArrayList<>();
    private final List<Actor> actors = new ArrayList<>();
    private boolean mayLeaveClaims;

    final Holdfast locks = client(store);
    final Holdfast rival = client(memory);

    final Actor a = actor("A");
    final Actor b = actor("B");
    final Actor c = actor("C");

    /** Another client, on this test's clock, which is closed after the test. */
    final Holdfast client(LockStore over) {
        return client(Holdfast.builder().store(over));
    }

    /** Another client with settings, on this test's clock, which is closed after the test. */
    final Holdfast client(Holdfast.Builder settings) {
        Holdfast client = settings.clock(clock).connect();
        clients.add(client);
        clock.watch(Engines.of(client));
        return client;
    }

    /** Another thread, which ends after the test. */
    final Actor actor(String name) {
        Actor actor = new Actor(name, clock, task -> {
            Thread thread = new Thread(task);
            thread.setDaemon(true);
            return thread;
        });
        actors.add(actor);
        return actor;
    }

    /** Several threads. */
    final List<Actor> actors(String name, int count) {
        List<Actor> made = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            made.add(actor(name + i));
        }
        return made;
    }

    /** A test calls this if it cuts off the store, so that a client cannot release its claims. */
    final void mayLeaveClaims() {
        mayLeaveClaims = true;
    }

    /** How many claims hold the name in the store. */
    final int holders(String name) {
        return state(name).map(state -> state.holders().size()).orElse(0);
    }

    /** How many claims wait for the name in the store. */
    final int waiters(String name) {
        return state(name).map(state -> state.waiters().size()).orElse(0);
    }

    final boolean isUnused(String name) {
        return holders(name) == 0 && waiters(name) == 0;
    }

    final void awaitUnused(String name) {
        Wait.until("nobody holds or waits for " + name, () -> isUnused(name));
    }

    final void awaitWaiters(String name, int count) {
        Wait.until(count + " claims wait for " + name, () -> waiters(name) == count);
    }

    /** Waits until all callbacks of a client have been called, or handed over, so that none comes after an assertion. */
    static void awaitCallbacks(Holdfast client) {
        Wait.until(
                "all callbacks were called",
                () -> Engines.of(client).callbacks().isQuiet());
    }

    /** Lets the hand-off time of a hold that has just been acquired pass, so that waiters enter the store's queue. */
    final void handOffTimeIsOver() {
        clock.advance(HAND_OFF_TIME);
    }

    /** Lets time pass in steps that are short enough for a waiter to refresh its ticket in time. */
    final void pass(Duration duration) {
        Duration left = duration;
        while (left.compareTo(STEP) > 0) {
            clock.advanceAndSettle(STEP);
            left = left.minus(STEP);
        }
        clock.advanceAndSettle(left);
    }

    private Optional<ResourceState> state(String name) {
        return memory.inspect(new LockName(name)).toCompletableFuture().join();
    }

    // Releases that will be repeated wait for the clock. The clock stops long before a lease or a ticket would end
    // by itself.
    private void closeAll() {
        Thread closing = new Thread(() -> clients.forEach(Holdfast::close), "closing");
        closing.start();
        Duration passed = Duration.ZERO;
        while (closing.isAlive()) {
            if (passed.compareTo(Duration.ofSeconds(4)) < 0) {
                clock.advance(CLOSING_STEP);
                passed = passed.plus(CLOSING_STEP);
            }
            LockSupport.parkNanos(200_000);
        }
    }

    @AfterEach
    final void endAll() {
        network.heal();
        network.randomly(0, 0);
        actors.forEach(Actor::close);
        closeAll();
        network.letGo();
        if (!mayLeaveClaims) {
            Wait.until(
                    "nothing is left in the store after the clients were closed",
                    () -> memory.list("", 10).toCompletableFuture().join().isEmpty());
        }
    }
}
