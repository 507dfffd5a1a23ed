package dev.holdfast.testkit.model;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.Renewed;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.fault.ForwardingStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.function.IntUnaryOperator;
import org.junit.jupiter.api.Test;

/** Which positions of a store differ from those of the model, and which may. */
class TwinStoresTest {

    private static final int FAR = Renewed.Waiting.FAR;

    private final ManualClock clock = new ManualClock(1);
    private final Claimant claimant = new Claimant("twin", Duration.ofHours(1));
    private final LockName name = new LockName("queue");
    private final List<Claim> claims = new ArrayList<>();

    /** A store that reports other positions to those who ask again. */
    private TwinStores twins(IntUnaryOperator positions) {
        Duration ticket = Duration.ofHours(2);
        ForwardingStore tested = new ForwardingStore(new MemoryLockStore(clock, ticket)) {
            @Override
            public CompletionStage<List<Renewed>> renew(Collection<Claim> batch) {
                return super.renew(batch)
                        .thenApply(answers -> answers.stream()
                                .map(answer -> answer instanceof Renewed.Waiting waiting
                                        ? new Renewed.Waiting(
                                                positions.applyAsInt(waiting.position()), waiting.retryAfter())
                                        : answer)
                                .toList());
            }
        };
        TwinStores twins = new TwinStores(tested, new PlainStore(clock, ticket), true);
        twins.tryAcquire("holder", claimant.mutex(name));
        return twins;
    }

    private void queue(TwinStores twins, int waiters) {
        for (int i = 0; i < waiters; i++) {
            ListenerTwins listeners = new ListenerTwins();
            Claim claim = claimant.mutex(name);
            claims.add(claim);
            twins.enqueue("waiter", claim, listeners);
            assertThat(listeners.areNotified()).isTrue();
            twins.compareFirstEvents(claim, listeners);
        }
    }

    @Test
    void aPositionThatWasFarMayBeKept() {
        TwinStores twins = twins(position -> position == FAR - 1 ? FAR : position);
        queue(twins, FAR + 1);
        twins.release("cancel", claims.get(0));
        Claim last = claims.get(FAR);
        assertThat(twins.renew("far", List.of(last)))
                .singleElement()
                .isInstanceOfSatisfying(
                        Renewed.Waiting.class,
                        waiting -> assertThat(waiting.position()).isEqualTo(FAR - 1));
    }

    @Test
    void aClaimThatWasNeverFarHasItsPosition() {
        TwinStores twins = twins(position -> position == FAR - 1 ? FAR : position);
        queue(twins, FAR);
        assertThatThrownBy(() -> twins.renew("near", List.of(claims.get(FAR - 1))))
                .isInstanceOf(Difference.class)
                .hasMessageContaining("store 8, model 7");
    }

    @Test
    void aClaimThatHasComeNearHasItsPositionFromThenOn() {
        TwinStores twins = twins(position -> position == FAR - 2 ? FAR : position);
        queue(twins, FAR + 1);
        Claim last = claims.get(FAR);
        twins.release("cancel", claims.get(0));
        twins.renew("now near", List.of(last));
        twins.release("cancel", claims.get(1));
        assertThatThrownBy(() -> twins.renew("nearer", List.of(last)))
                .isInstanceOf(Difference.class)
                .hasMessageContaining("store 8, model 6");
    }
}
