package dev.holdfast.testkit.process;

import dev.holdfast.Holdfast;
import dev.holdfast.LockException;
import java.util.concurrent.locks.LockSupport;

/** How the clients of tests with many processes connect. */
final class Connecting {

    private static final int MOST_TRIES = 10;
    private static final long PAUSE_NANOS = 20_000_000;

    private Connecting() {}

    /** Connects again while that fails: while many JVMs start, a server may seem not to answer in time. */
    static Holdfast to(String url) {
        for (int tries = 1; ; tries++) {
            try {
                return Holdfast.connect(url);
            } catch (LockException busy) {
                if (tries == MOST_TRIES) {
                    throw busy;
                }
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
    }
}
