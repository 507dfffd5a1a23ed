package dev.holdfast.testkit;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.LockStoreProvider;
import dev.holdfast.spi.MonotonicClock;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The laws on a store that is opened by a URL and whose leases end by the clock of its server, which a test cannot hold: all of it
 * runs in real time.
 *
 * <pre>{@code
 * class RedisLockStoreTest extends ServerStoreTck {
 *
 *     @AutoClose
 *     private static final RedisServer SERVER = RedisServer.start();
 *
 *     RedisLockStoreTest() {
 *         super(new RedisLockStoreProvider(), SERVER.url() + "?ticketTtl=", Duration.ofMillis(1500));
 *     }
 * }
 * }</pre>
 */
public abstract class ServerStoreTck extends LockStoreTck {

    private final LockStoreProvider provider;
    private final String url;
    private final @Nullable Duration tickets;
    private int operations = super.modelOperations();
    private boolean meetsExpiry = super.modelRunMeetsExpiry();

    /** A store whose tickets live as long as they do by default, or that has none. */
    protected ServerStoreTck(LockStoreProvider provider, String url) {
        this(provider, url, null);
    }

    /**
     * A store whose URL says how long tickets live.
     *
     * @param url one that ends with the name of that option and the equals sign
     * @param tickets how long they live in the tests that wait for their end; so it is short
     */
    protected ServerStoreTck(LockStoreProvider provider, String url, @Nullable Duration tickets) {
        this.provider = provider;
        this.url = url;
        this.tickets = tickets;
    }

    /** Shortens the model run, for a store that has its long run in another test. */
    protected final void runsModel(int modelOperations) {
        operations = modelOperations;
    }

    /** Lets nothing end by time in the model run, for a store whose rules meet that in another test. */
    protected final void meetsNoExpiryInModelRun() {
        meetsExpiry = false;
    }

    @Override
    protected final LockStore open(MonotonicClock clock) {
        return open(clock, tickets == null ? null : OUTLASTING);
    }

    @Override
    protected final LockStore openWithBriefTickets() {
        return tickets == null ? super.openWithBriefTickets() : open(clock(), tickets);
    }

    @Override
    protected final LockStore openWithTickets(Duration timeToLive) {
        return tickets == null ? super.openWithTickets(timeToLive) : open(clock(), timeToLive);
    }

    private LockStore open(MonotonicClock clock, @Nullable Duration timeToLive) {
        return provider.open(timeToLive == null ? url : url + timeToLive.toMillis() + "ms", clock);
    }

    @Override
    protected final boolean runsOnRealTime() {
        return true;
    }

    @Override
    protected final boolean modelRunMeetsExpiry() {
        return meetsExpiry;
    }

    @Override
    protected final int modelOperations() {
        return operations;
    }
}
