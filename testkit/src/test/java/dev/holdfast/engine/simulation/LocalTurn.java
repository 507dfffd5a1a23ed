package dev.holdfast.engine.simulation;

import dev.holdfast.LockOptions;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * The wish of a thread for a lock that it does not share, in the queue of its process. Running threads may overtake the first in the
 * queue, but not for long.
 */
final class LocalTurn {

    /** The bound of the engine, by a clock that is slow. */
    private static final long MOST_BARGING = Weather.MILLI * 102 / 100;

    private static final int TOKENS_PER_GRANT = 1024;

    private final SimulatedThread thread;
    private final SharedName name;
    private final LockOptions how;
    private final long begun;
    /** Whether those who were there before have ended; they may be before it in the queue. */
    private final List<BooleanSupplier> before;

    private long firstSince = Long.MAX_VALUE;

    /** @param before of each who was there before, whether he is gone */
    LocalTurn(SimulatedThread thread, SharedName name, LockOptions how, long begun, List<BooleanSupplier> before) {
        this.thread = thread;
        this.name = name;
        this.how = how;
        this.begun = begun;
        this.before = before;
    }

    /** Time has passed, or others have gone. */
    void look(long now) {
        if (firstSince == Long.MAX_VALUE) {
            before.removeIf(BooleanSupplier::getAsBoolean);
            firstSince = before.isEmpty() ? now : firstSince;
        }
    }

    /** Its wish has come true now: if it was handed what another thread had, it was not the turn of somebody else. */
    void requireOvertakesNobody(long token, long now, List<LocalTurn> others) {
        for (LocalTurn other : others) {
            if (token % TOKENS_PER_GRANT > 0
                    && other.name == name
                    && other.how == how
                    && other.begun < begun
                    && other.thread.waitsInQueue()
                    && other.firstSince < now - MOST_BARGING) {
                throw new AssertionError(thread + " has overtaken " + other.thread + ", the first for "
                        + (now - other.firstSince) + " ns");
            }
        }
    }
}
