package dev.holdfast.spring.boot;

import dev.holdfast.LockOptions;
import dev.holdfast.election.ElectionOptions;
import dev.holdfast.spring.locked.OnSelfCall;
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
 * @param election the election in which this application stands.
 * @param health the health indicator of the actuator.
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
        @DefaultValue Locked locked,
        @DefaultValue Election election,
        @DefaultValue Health health) {

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
                + locked + ", " + election + ", " + health;
    }

    /**
     * Methods with @Locked.
     *
     * @param maxWait how long a method waits for its lock if it does not say.
     * @param order place of the lock among the interceptors of a method; lower is further out. Transactions have 2147483647.
     * @param selfCalls what is done at the start about a call of a locked method on its own object, which runs without the lock.
     */
    public record Locked(
            @DefaultValue("10s") Duration maxWait,
            @DefaultValue("" + DEFAULT_ORDER) int order,
            @DefaultValue("warn") OnSelfCall selfCalls) {

        /** @throws IllegalArgumentException if the time is negative */
        public Locked {
            if (maxWait.isNegative()) {
                throw new IllegalArgumentException("holdfast.locked.max-wait must not be negative, but was " + maxWait);
            }
        }
    }
    /**
     * The election in which this application stands. There may be more, as beans of the type ElectionBean.
     *
     * @param name what is led: the same in all applications that stand against each other. None unless set.
     * @param id by which people know the candidate, such as the name of its pod, without white space. The id of its client unless set.
     * @param payload what the candidate proclaims, such as its address; at most 64 characters.
     * @param lease how long a leader that has died, or has lost the store, stays elected; 100 ms to 24 h.
     * @param autoStartup whether the application stands when it starts, instead of when the bean is started.
     */
    public record Election(
            @Nullable String name,
            @DefaultValue("") String id,
            @DefaultValue("") String payload,
            @DefaultValue("15s") Duration lease,
            @DefaultValue("true") boolean autoStartup) {

        /** @throws IllegalArgumentException if a text or a time is out of its bounds */
        public Election {
            ElectionOptions.defaults().withId(id).withPayload(payload).withLease(lease);
        }

        /** How the candidate takes part. */
        public ElectionOptions options(Duration storeTimeout) {
            return ElectionOptions.defaults()
                    .withId(id)
                    .withPayload(payload)
                    .withLease(lease)
                    .withStoreTimeout(storeTimeout);
        }
    }

    /**
     * The health indicator of the actuator.
     *
     * @param timeout how long the store may take to answer before it is reported as down; 1 ms to 10 s.
     */
    public record Health(@DefaultValue("2s") Duration timeout) {

        private static final Duration LEAST = Duration.ofMillis(1);

        /** The client gives a question up after this time. */
        private static final Duration MOST = Duration.ofSeconds(10);

        /** @throws IllegalArgumentException if the time is out of its bounds */
        public Health {
            if (timeout.compareTo(LEAST) < 0 || timeout.compareTo(MOST) > 0) {
                throw new IllegalArgumentException("holdfast.health.timeout must be 1 ms to 10 s, but was " + timeout);
            }
        }
    }
}
