package dev.holdfast.internal;

import dev.holdfast.StoreUnavailableException;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.store.Bounds;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;

/** Looks at resources, and breaks what was seen. */
public final class Inspection {

    private Inspection() {}

    /** Who holds and waits; empty if nobody does. */
    public static Optional<ResourceState> state(Engine engine, LockName name, long timeout) {
        return ask(engine, "inspect \"" + name + "\"", () -> engine.store().inspect(name), timeout)
                .filter(ResourceState::isInUse);
    }

    /** The names in use. */
    public static List<String> list(Engine engine, String prefix, int limit, long timeout) {
        Bounds.list(limit);
        return ask(engine, "list names", () -> engine.store().list(prefix, limit), timeout).stream()
                .map(LockName::value)
                .toList();
    }

    /** Releases all claims that hold the name now. Returns how many still held. */
    static int breakHolders(Engine engine, LockName name, long timeout) {
        int broken = 0;
        for (ResourceState.Entry holder :
                state(engine, name, timeout).map(ResourceState::holders).orElse(List.of())) {
            broken += breakClaim(engine, holder, timeout) ? 1 : 0;
        }
        return broken;
    }

    /**
     * Releases exactly the claim that was seen. It is marked as repeated, so that the store remembers for one lease that it
     * was released: its owner then hears BROKEN and not just EXPIRED.
     *
     * @return whether it held or waited until now
     */
    public static boolean breakClaim(Engine engine, ResourceState.Entry seen, long timeout) {
        long sentAt = engine.now();
        var released = ask(
                engine,
                "break \"" + seen.claim().name() + "\"",
                () -> engine.store().release(seen.claim().again()),
                timeout);
        released.granted().forEach(handed -> engine.handed(handed, sentAt));
        engine.brokenHere(seen.claim());
        return released.wasOwner();
    }

    private static <T> T ask(Engine engine, String what, Supplier<CompletionStage<T>> call, long timeout) {
        try {
            return engine.answers().join(call, timeout);
        } catch (StoreException failure) {
            throw new StoreUnavailableException(
                    "Client " + engine.clientId() + " could not " + what + ": the "
                            + engine.traits().product() + " store failed: " + failure.getMessage(),
                    failure);
        }
    }
}
