package dev.holdfast.testkit.law;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.spi.StoreTraits.Kinds;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.ThreadKind;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;

/**
 * Law 11: a failure says whether the request may have had an effect. Interrupts of the callers have no effect on
 * calls.
 */
abstract class ErrorLaw extends BoundsLaw {

    @Law(11)
    public final void closedStoreRefusesWithoutEffect() {
        Claim claim = alice.mutex(name());
        LockStore closed = store();
        closed.close();
        closed.close();
        List<Function<LockStore, CompletionStage<?>>> calls = List.of(
                s -> s.tryAcquire(claim),
                s -> s.renew(List.of(claim)),
                s -> s.release(claim),
                s -> s.inspect(claim.name()),
                s -> s.list(prefix(), 10));
        for (Function<LockStore, CompletionStage<?>> call : calls) {
            assertThat(failure(call.apply(closed)).effect()).isEqualTo(Effect.NONE);
        }
        if (traits().atomicSeveral()) {
            assertThat(failure(closed.tryAcquireAll(List.of(claim))).effect()).isEqualTo(Effect.NONE);
        }
        if (traits().fifo()) {
            RecordingListener listener = enqueued(claim);
            assertThat(listener.first(RecordingListener.Event.Failed.class)
                            .orElseThrow()
                            .cause()
                            .effect())
                    .isEqualTo(Effect.NONE);
            listener.checkContract();
        }
    }

    @Law(11)
    public final void whatTheTraitsDenyIsUnsupported() {
        Claim claim = alice.mutex(name());
        if (!traits().atomicSeveral()) {
            assertThatThrownBy(() -> store().tryAcquireAll(List.of(claim)))
                    .isInstanceOf(UnsupportedOperationException.class);
        }
        if (!traits().fifo()) {
            assertThatThrownBy(() -> store().enqueue(claim, new RecordingListener()))
                    .isInstanceOf(UnsupportedOperationException.class);
        }
    }

    @Law(11)
    public final void kindsThatTheTraitsDenyAreRefused() {
        Kinds kinds = traits().kinds();
        assumeTrue(kinds != Kinds.ALL, "the store serves all kinds");
        Claimant carol = new Claimant("carol", LONG);
        LockName name = name();
        for (boolean held : new boolean[] {false, true}) {
            if (held) {
                granted(bob.mutex(name));
            }
            List<Claim> claims =
                    List.of(carol.read(name), carol.write(name), carol.waitSet(name), carol.claim(name, 1, 2));
            for (Claim claim : claims) {
                if (kinds.serves(claim.limit())) {
                    continue;
                }
                StoreException refusal = failure(store().tryAcquire(claim));
                assertThat(refusal.effect()).isEqualTo(Effect.NONE);
                assertThat(refusal.retryable()).isFalse();
                assertThat(refusal).hasMessageContaining(name.value());
                assertThat(released(claim)).isFalse();
            }
            assertThat(holders(name)).hasSize(held ? 1 : 0);
        }
    }

    @Law(11)
    public final void refusedClaimsHadNoEffect() {
        LockName name = name();
        Claim two = alice.claim(name, 2, 5);
        granted(two);
        refusedAsOtherKind(bob.mutex(name));
        assertThat(failure(store().tryAcquire(two.withPermits(5))).effect()).isEqualTo(Effect.NONE);
        assertThat(holders(name)).extracting(Claim::permits).containsExactly(2);
        assertThat(waiters(name)).isEmpty();
        granted(bob.claim(name, 3, 5));
    }

    @Law(11)
    public final void callsWorkWithTheInterruptFlagSetAndKeepIt() {
        LockName name = name();
        ThreadKind.runOnEach(kind -> {
            Thread.currentThread().interrupt();
            Claim claim = alice.mutex(name);
            afterInterrupted("tryAcquire on " + kind, store().tryAcquire(claim));
            afterInterrupted("renew on " + kind, store().renew(List.of(claim)));
            afterInterrupted("inspect on " + kind, store().inspect(name));
            afterInterrupted("list on " + kind, store().list(prefix(), 10));
            afterInterrupted("release on " + kind, store().release(claim));
            if (traits().fifo()) {
                Claim enqueued = alice.mutex(name);
                RecordingListener listener = new RecordingListener();
                store().enqueue(enqueued, listener);
                assertThat(Thread.interrupted())
                        .as("flag kept by enqueue on %s", kind)
                        .isTrue();
                awaitGrant(listener);
                Thread.currentThread().interrupt();
                afterInterrupted("release on " + kind, store().release(enqueued));
            }
            assertThat(Thread.interrupted()).isTrue();
            assertThat(inspected(name)).isEmpty();
        });
        granted(bob.mutex(name));
    }

    @Law(11)
    public final void interruptsDuringCallsHarmNothing() {
        LockName name = name();
        ThreadKind.runOnEach(kind -> {
            Thread victim = Thread.currentThread();
            AtomicBoolean done = new AtomicBoolean();
            Thread interrupter = new Thread(() -> {
                while (!done.get()) {
                    victim.interrupt();
                    Thread.onSpinWait();
                }
            });
            interrupter.setDaemon(true);
            interrupter.start();
            try {
                for (int i = 0; i < 50; i++) {
                    Claim claim = alice.mutex(name);
                    uninterrupted(store().tryAcquire(claim));
                    uninterrupted(store().renew(List.of(claim)));
                    assertThat(uninterrupted(store().release(claim)).wasOwner()).isTrue();
                }
            } finally {
                done.set(true);
                while (interrupter.isAlive()) {
                    Thread.onSpinWait();
                }
                Thread.interrupted();
            }
        });
        assertThat(inspected(name)).isEmpty();
    }

    // The flag is read before the stage is waited for, because waiting would throw.
    private static void afterInterrupted(String what, CompletionStage<?> stage) {
        assertThat(Thread.interrupted()).as("flag kept by " + what).isTrue();
        get(stage);
        Thread.currentThread().interrupt();
    }

    private static <T> T uninterrupted(CompletionStage<T> stage) {
        try {
            return stage.toCompletableFuture().join();
        } catch (CompletionException failure) {
            throw new AssertionError("A call failed because its thread was interrupted", failure.getCause());
        }
    }
}
