package dev.holdfast.micrometer;

import dev.holdfast.Holdfast;
import dev.holdfast.LockObserver;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;

/**
 * Makes an {@link Observation} of each acquisition of a client's locks, so that traces show where a request has waited for one.
 *
 * <pre>{@code
 * Holdfast locks = new HoldfastObservations(registry).connect(Holdfast.builder().url("redis://localhost"));
 * }</pre>
 *
 * <p>It begins on the thread that asks for the lock, below the observation that is current there, and ends with the lock or without
 * it, on any thread; its scope is not opened. What it is called and which key values it has is documented by {@link
 * HoldfastObservation}. Re-entry, and candidates of elections, are not observed.
 *
 * <p>Thread-safe. An object serves one client: the key {@code store} is that of the last one that it was {@linkplain #bindTo bound}
 * to.
 */
public final class HoldfastObservations implements LockObserver {

    private static final AcquireConvention DEFAULT = new DefaultAcquireConvention();

    private final ObservationRegistry registry;
    private final LockGroups groups;
    private final @Nullable AcquireConvention convention;
    private volatile String store = "unknown";

    /** Observations with locks grouped {@linkplain LockGroups#byPattern by the pattern} of their names. */
    public HoldfastObservations(ObservationRegistry registry) {
        this(registry, LockGroups.byPattern(), null);
    }

    /**
     * Observations with groups and a convention of the program's own.
     *
     * @param convention null for that of the registry, if it has one for {@link AcquireContext}, or else {@link
     *     DefaultAcquireConvention}
     */
    public HoldfastObservations(
            ObservationRegistry registry, LockGroups groups, @Nullable AcquireConvention convention) {
        this.registry = registry;
        this.groups = groups;
        this.convention = convention;
    }

    /**
     * Makes a client that is observed.
     *
     * @param builder its settings; this is added to the observers
     * @throws RuntimeException whatever {@link Holdfast.Builder#connect} throws
     */
    public Holdfast connect(Holdfast.Builder builder) {
        Holdfast locks = builder.observer(this).connect();
        bindTo(locks);
        return locks;
    }

    /** Names the store of a client that was given this as its observer. */
    public void bindTo(Holdfast locks) {
        store = locks.traits().product();
    }

    @Override
    public @Nullable Acquisition acquireStarted(String name, Kind kind) {
        if (registry.isNoop()) {
            return null;
        }
        AcquireContext context = new AcquireContext(store, name, groups.of(name), kind);
        Observation observation = HoldfastObservation.ACQUIRE
                .observation(convention, DEFAULT, () -> context, registry)
                .start();
        return (outcome, waited) -> {
            context.ended(outcome, waited);
            observation.stop();
        };
    }
}
