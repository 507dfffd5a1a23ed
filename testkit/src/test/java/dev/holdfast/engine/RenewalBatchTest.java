package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Lease;
import dev.holdfast.testkit.fault.Verb;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Tests that what is renewed at about the same time is renewed by one call. */
class RenewalBatchTest extends EngineFixture {

    private static final int NAMES = 300;

    @Test
    void theTicketsOfManyNamesAreRefreshedTogether() throws InterruptedException {
        List<Lease> held = new ArrayList<>();
        List<CompletableFuture<Lease>> waiting = new ArrayList<>();
        for (int i = 0; i < NAMES; i++) {
            held.add(rival.lock("name" + i).acquire());
        }
        for (int i = 0; i < NAMES; i++) {
            waiting.add(locks.lock("name" + i).acquireAsync());
            // They come one after the other, and not all at the same moment.
            clock.advanceAndSettle(Duration.ofMillis(5));
        }
        store.reset();
        Duration step = Duration.ofMillis(10);
        for (int i = 0; i < 1_000; i++) {
            clock.advanceAndSettle(step);
        }
        // In ten seconds each ticket of five seconds is refreshed at least six times.
        assertThat(store.count(Verb.RENEW)).isBetween(6L, 120L);
        for (int i = 0; i < NAMES; i++) {
            held.get(i).release();
            Actor.end(waiting.get(i)).release();
        }
    }
}
