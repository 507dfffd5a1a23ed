package dev.holdfast.jdbc;

import dev.holdfast.jdbc.config.ServerOptions;
import dev.holdfast.jdbc.connection.ConnectionPool;
import dev.holdfast.jdbc.dialect.H2Dialect;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.LockStoreTck;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.h2.jdbcx.JdbcDataSource;

/** The laws, on H2 with a function for a clock, so that time can be held: its statements are the same but for that. */
public class H2OnHeldClockTest extends LockStoreTck {

    private static final Map<String, Clock> CLOCKS = new ConcurrentHashMap<>();

    private final String database = UUID.randomUUID().toString();

    private record Clock(MonotonicClock clock, long origin) {}

    /** Called by H2. */
    public static long now(String database) {
        Clock held = CLOCKS.get(database);
        return (held.clock().nanoTime() - held.origin()) / 1_000;
    }

    /** Called by H2. */
    public static long epoch(String database) {
        return CLOCKS.get(database).clock().epochMicros();
    }

    @Override
    protected LockStore open(MonotonicClock clock) {
        CLOCKS.put(database, new Clock(clock, clock.nanoTime()));
        return openAnother(clock).orElseThrow();
    }

    @Override
    protected Optional<LockStore> openAnother(MonotonicClock clock) {
        return Optional.of(H2StoreFactory.open(url(), "H2", ServerOptions.DEFAULTS, clock, new HeldDialect(database)));
    }

    @Override
    protected void fillQueue(List<Claim> claims) {
        JdbcDataSource source = new JdbcDataSource();
        source.setURL(url());
        Duration limit = Duration.ofSeconds(30);
        try (ConnectionPool pool = new ConnectionPool(source, H2Dialect.PREPARES, 1, "H2", limit, "full-queue")) {
            FullQueue.fill(pool, new HeldDialect(database), store().traits().ticketTtl(), clock(), claims);
        }
    }

    @Override
    protected int modelOperations() {
        return 5_000;
    }

    private String url() {
        return "jdbc:h2:mem:" + database + ";DB_CLOSE_DELAY=-1;INIT=" + alias("now") + "\\;" + alias("epoch");
    }

    private static String alias(String function) {
        return "CREATE ALIAS IF NOT EXISTS test_" + function + " FOR '" + H2OnHeldClockTest.class.getName() + "."
                + function + "'";
    }

    private static final class HeldDialect extends H2Dialect {

        private final String database;

        HeldDialect(String database) {
            super("H2 on a held clock");
            this.database = database;
        }

        @Override
        public String now() {
            return "test_now('" + database + "')";
        }

        @Override
        public String epoch() {
            return "test_epoch('" + database + "')";
        }
    }
}
