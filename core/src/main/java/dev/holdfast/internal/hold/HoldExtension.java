package dev.holdfast.internal.hold;

import dev.holdfast.StoreUnavailableException;
import dev.holdfast.internal.Engine;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;

/** Makes holds last for at least a lease from now, with one call. */
public final class HoldExtension {

    private HoldExtension() {}

    /** Extends holds of one engine, and waits for the answer. Throws as {@link dev.holdfast.Lease#extend} does. */
    static void extend(List<Hold> holds, Duration lease) {
        Claim.checkLease(lease);
        requireHeld(holds);
        Hold first = holds.get(0);
        try {
            first.engine().calls().join(() -> send(holds, lease), first.spec().storeTimeout());
        } catch (StoreException failure) {
            throw notExtended(holds, failure);
        }
        requireHeld(holds);
    }

    /** Extends holds of one engine. Fails with a {@link StoreException} if the store does not extend all of them. */
    public static CompletionStage<Boolean> send(List<Hold> holds, Duration lease) {
        Engine engine = holds.get(0).engine();
        long sentAt = engine.now();
        List<Claim> claims =
                holds.stream().map(hold -> hold.grant().claimFor(lease)).toList();
        return engine.store().renew(claims).thenApply(answers -> {
            StoreException failed = null;
            for (int i = 0; i < claims.size(); i++) {
                if (answers.get(i) instanceof Renewed.Failed one) {
                    failed = one.cause();
                } else {
                    holds.get(i).grant().renewed(claims.get(i), answers.get(i), sentAt);
                }
            }
            if (failed != null) {
                throw failed;
            }
            return true;
        });
    }

    private static void requireHeld(List<Hold> holds) {
        for (Hold hold : holds) {
            if (hold.isReleased()) {
                throw new IllegalStateException(
                        "The lease of " + hold.names() + " with token " + hold.token() + " was released");
            }
            if (!hold.isHeld()) {
                throw hold.lostException();
            }
        }
    }

    /** Says that the store did not extend the holds. */
    public static StoreUnavailableException notExtended(List<Hold> holds, StoreException cause) {
        Hold first = holds.get(0);
        return new StoreUnavailableException(
                "The lease of " + first.names() + " with token " + first.token() + " was not extended: "
                        + cause.getMessage() + ". It is held for another "
                        + first.remaining().toMillis() + " ms, or longer",
                cause);
    }
}
