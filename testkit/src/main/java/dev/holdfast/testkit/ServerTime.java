package dev.holdfast.testkit;

import java.time.Duration;
import java.util.function.LongConsumer;

/**
 * The time of a server that follows a manual clock. Each change of the clock is written to the server before anybody can read the
 * new time from the clock, so the server never lags behind. A step of the clients' wall clock is none of the server's.
 */
public final class ServerTime {

    private final ManualClock clock;
    private final LongConsumer write;
    private final long origin;
    private long start;

    private ServerTime(ManualClock clock, LongConsumer write) {
        this.clock = clock;
        this.write = write;
        this.origin = clock.nanoTime();
        this.start = clock.epochMicros();
    }

    /**
     * Lets a server follow a clock from now on.
     *
     * @param write sets the server's time, in microseconds since 1970
     */
    public static ServerTime follow(ManualClock clock, LongConsumer write) {
        ServerTime time = new ServerTime(clock, write);
        time.write();
        clock.whenChanged(time::write);
        return time;
    }

    /** Steps the server's clock, as its administrator or a time server does. */
    public void step(Duration step) {
        start += step.toNanos() / 1_000;
        write();
    }

    private void write() {
        write.accept(start + (clock.nanoTime() - origin) / 1_000);
    }
}
