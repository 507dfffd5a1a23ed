package dev.holdfast.internal.condition;

import dev.holdfast.internal.Engine;
import dev.holdfast.internal.calls.RepeatedCall;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * The signal that a thread was given and cannot act on, for the next one. Mostly the store is away then, so it is repeated in the
 * background until it gets through, or until everybody who waits now has looked for himself. If the client closes, the close
 * waits for it, as for releases.
 */
final class PassedOnSignal extends RepeatedCall<Boolean> {

    private final Engine engine;
    private final LockName waitSet;

    PassedOnSignal(Engine engine, LockName waitSet) {
        super(engine.retriesWhileClosing(), engine.now() + SharedCondition.LONGEST_WAIT_NANOS);
        this.engine = engine;
        this.waitSet = waitSet;
        engine.waitSets().begin();
    }

    // An attempt that failed halfway may have woken one. Then its repeat wakes another, which is allowed.
    @Override
    protected CompletionStage<Boolean> send() {
        return engine.store().inspect(waitSet).thenCompose(state -> {
            List<Claim> waiters = state.map(ResourceState::waiters).orElse(List.of()).stream()
                    .map(ResourceState.Entry::claim)
                    .filter(Claim::isWaitSet)
                    .toList();
            return endFirst(waiters);
        });
    }

    /** Ends the first one that still waits; the result is whether there was one. */
    private CompletionStage<Boolean> endFirst(List<Claim> waiters) {
        if (waiters.isEmpty()) {
            return CompletableFuture.completedStage(false);
        }
        Claim first = waiters.get(0);
        CompletionStage<Released> release = engine.store().release(first);
        return release.thenCompose(released -> {
            engine.waitSets().ended(first.id());
            return released.wasOwner()
                    ? CompletableFuture.completedStage(true)
                    : endFirst(waiters.subList(1, waiters.size()));
        });
    }

    @Override
    protected void answered(Boolean woken) {
        engine.waitSets().end();
    }

    // The bound of all waits does the rest.
    @Override
    protected void failed(StoreException cause) {
        engine.waitSets().end();
    }
}
