package dev.holdfast.spring.boot;

import dev.holdfast.LockOptions;
import dev.holdfast.store.StoreUrl;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The keys below {@code holdfast}. Times outside of their bounds are refused when they are read.
 *
 * @param url URL of the store, such as redis://localhost:6379 or sqlite:locks.db. Not needed if the application has a Redis
 *     connection or a DataSource.
 * @param storeOptions options of a store in the application's own Redis or DataSource, as after the question mark of a URL.
 * @param label text by which people recognise this application among those that hold or wait. The application's name unless set.
 * @param lease how long others wait if this application dies while it holds a lock; 100 ms to 24 h.
 * @param autoRenew whether leases are renewed while locks are held.
 * @param maxHold after how long a lock is taken away from its holder. Never unless set.
 * @param fair whether locks are granted strictly in the order of arrival over all processes. Each acquisition asks the store then.
 * @param storeTimeout how long the store may be out of reach before a call fails; 1 ms to 24 h.
 * @param locked methods with @Locked.
 */
@ConfigurationProperties("holdfast")
public record HoldfastProperties(
        @Nullable String url,
        @DefaultValue("") String storeOptions,
        @Nullable String label,
        @DefaultValue("30s") Duration lease,
        @DefaultValue("true") boolean autoRenew,
        @Nullable Duration maxHold,
        @DefaultValue("false") boolean fair,
        @DefaultValue("10s") Duration storeTimeout,
        @DefaultValue Locked locked) {

    /** The order of locks around methods, unless the key says otherwise: further out than transactions. */
    static final int DEFAULT_ORDER = Integer.MAX_VALUE - 1000;

    /** @throws IllegalArgumentException if a time is out of its bounds */
    public HoldfastProperties {
        options(lease, autoRenew, maxHold, fair, storeTimeout);
    }

    /** The options of locks that are made without any of their own. */
    public LockOptions lockOptions() {
        return options(lease, autoRenew, maxHold, fair, storeTimeout);
    }

    private static LockOptions options(
            Duration lease, boolean autoRenew, @Nullable Duration maxHold, boolean fair, Duration storeTimeout) {
        LockOptions options = LockOptions.defaults()
                .withLease(lease)
                .withAutoRenew(autoRenew)
                .withFair(fair)
                .withStoreTimeout(storeTimeout);
        return maxHold == null ? options : options.withMaxHold(maxHold);
    }

    /** The keys without passwords. */
    @Override
    public String toString() {
        return "holdfast: url=" + (url == null ? "" : StoreUrl.withoutPassword(url)) + ", store-options="
                + StoreUrl.withoutPassword("?" + storeOptions) + ", label=" + label + ", " + lockOptions() + ", "
                + locked;
    }

    /**
     * Methods with @Locked.
     *
     * @param maxWait how long a method waits for its lock if it does not say.
     * @param order place of the lock among the interceptors of a method; lower is further out. Transactions have 2147483647.
     */
    public record Locked(
            @DefaultValue("10s") Duration maxWait,
            @DefaultValue("" + DEFAULT_ORDER) int order) {

        /** @throws IllegalArgumentException if the time is negative */
        public Locked {
            if (maxWait.isNegative()) {
                throw new IllegalArgumentException("holdfast.locked.max-wait must not be negative, but was " + maxWait);
            }
        }
    }
}
