package dev.holdfast.jdbc;

import dev.holdfast.jdbc.connection.ConnectionSource;
import dev.holdfast.jdbc.connection.SerialConnection;
import dev.holdfast.jdbc.row.Dialect;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.MonotonicClock;
import java.time.Duration;
import java.util.List;

/**
 * Fills a queue in one transition. One by one, each waiter would read and write all that are there already, which takes
 * minutes.
 */
final class FullQueue {

    private static final Duration LIMIT = Duration.ofSeconds(30);

    private FullQueue() {}

    /** Enqueues claims of one name. */
    static void fill(
            ConnectionSource source, Dialect dialect, Duration ticketTtl, MonotonicClock clock, List<Claim> claims) {
        SerialConnection connection = new SerialConnection(source, source.use(), dialect, ticketTtl, LIMIT, clock);
        try {
            connection.call(turn -> {
                dialect.start(turn.table().statements());
                return true;
            });
            fill(connection, claims);
        } finally {
            connection.close();
        }
    }

    static void fill(SerialConnection connection, List<Claim> claims) {
        LockName name = claims.get(0).name();
        connection.call(turn -> turn.table()
                .transition(
                        List.of(name),
                        read -> {
                            claims.forEach(claim -> read.only().enqueue(claim, read.now(), read.epoch()));
                            return true;
                        },
                        true));
    }
}
