package dev.holdfast.micrometer;

import dev.holdfast.Holdfast;
import dev.holdfast.LockObserver;
import dev.holdfast.LossReason;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter.MeterProvider;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Records what happens to the locks of one client in a {@link MeterRegistry}.
 *
 * <pre>{@code
 * Holdfast locks = new HoldfastMetrics(registry).connect(Holdfast.builder().url("redis://localhost"));
 * }</pre>
 *
 * <table>
 *   <caption>Metrics. All have the tag {@code store}, and those of locks have {@code lock}, a group of names.</caption>
 *   <tr><td>{@code holdfast.acquire}<td>timer<td>each acquisition, with {@code outcome} and {@code kind}
 *   <tr><td>{@code holdfast.wait}<td>timer<td>those acquisitions that took 20 ms or more, with {@code outcome}, and {@code
 *       held.by} if holders are looked for
 *   <tr><td>{@code holdfast.hold}<td>timer<td>from the acquisition to the release
 *   <tr><td>{@code holdfast.handoffs}<td>counter<td>grants that were passed on inside this JVM
 *   <tr><td>{@code holdfast.losses}<td>counter<td>locks lost while they were held, with {@code reason}
 *   <tr><td>{@code holdfast.renewals}<td>counter<td>renewed claims of held and waiting locks, with {@code result}
 *   <tr><td>{@code holdfast.renewals.late}<td>counter<td>held locks whose renewal was overdue
 *   <tr><td>{@code holdfast.requests}<td>timer<td>requests to the store, with {@code request} and {@code result}
 *   <tr><td>{@code holdfast.held}<td>gauge<td>locks that this client holds
 *   <tr><td>{@code holdfast.waiting}<td>gauge<td>acquisitions of this client that wait
 * </table>
 *
 * <p>No method blocks, and no meter has the name of a lock, unless {@link LockGroups#byName} is given. Thread-safe. An object
 * serves one client: the tag {@code store} and the gauges are of the last one that it was {@linkplain #bindTo bound} to. Two
 * clients of one store need {@linkplain #withTags tags} that tell them apart: a registry has one gauge for each set of tags.
 */
public final class HoldfastMetrics implements LockObserver {

    private static final Duration SHORTEST_WAIT = Duration.ofMillis(20);
    private static final String UNKNOWN = "unknown";

    private final MeterRegistry registry;
    private final LockGroups groups;
    private final @Nullable HolderLookup holders;
    private final Tags tags;
    private final MeterProvider<Timer> acquire;
    private final MeterProvider<Timer> wait;
    private final MeterProvider<Timer> hold;
    private final MeterProvider<Timer> requests;
    private final MeterProvider<Counter> handOffs;
    private final MeterProvider<Counter> losses;
    private final MeterProvider<Counter> renewals;
    private final MeterProvider<Counter> renewalsLate;
    private volatile String store = UNKNOWN;
    /** Those of the client that this is bound to. Guarded by this. */
    private List<Gauge> gauges = List.of();

    /** Metrics with locks grouped {@linkplain LockGroups#byPattern by the pattern} of their names. */
    public HoldfastMetrics(MeterRegistry registry) {
        this(registry, LockGroups.byPattern());
    }

    /** Metrics with groups of the program's own. */
    public HoldfastMetrics(MeterRegistry registry, LockGroups groups) {
        this(registry, groups, null, Tags.empty());
    }

    /**
     * Metrics that say of waits who had the lock: {@code holdfast.wait} has the tag {@code held.by} besides, with the {@linkplain
     * Holdfast.Builder#label label} of the holder, {@code none} if it has no label, and {@code unknown} for waits under 100 ms, for
     * which nobody looks. To look costs a request to the store for each name that is waited for so long, on a thread of its own.
     *
     * @param labels groups the labels, of which there are never more values than its bound; {@link LockGroups#byName} if each
     *     program has a label of its own
     */
    public HoldfastMetrics(MeterRegistry registry, LockGroups groups, LockGroups labels) {
        this(registry, groups, new HolderLookup(labels), Tags.empty());
    }

    HoldfastMetrics(MeterRegistry registry, LockGroups groups, @Nullable HolderLookup holders, Tags tags) {
        this.registry = registry;
        this.groups = groups;
        this.holders = holders;
        this.tags = tags;
        this.acquire = Timer.builder("holdfast.acquire")
                .description("Acquisitions of locks, by how they ended")
                .tags(tags)
                .withRegistry(registry);
        this.wait = Timer.builder("holdfast.wait")
                .description("Acquisitions of locks that took 20 ms or more")
                .tags(tags)
                .withRegistry(registry);
        this.hold = Timer.builder("holdfast.hold")
                .description("How long locks were held")
                .tags(tags)
                .withRegistry(registry);
        this.requests = Timer.builder("holdfast.requests")
                .description("Requests to the store of the locks")
                .tags(tags)
                .withRegistry(registry);
        this.handOffs = Counter.builder("holdfast.handoffs")
                .description("Grants that were passed on inside the JVM")
                .tags(tags)
                .withRegistry(registry);
        this.losses = Counter.builder("holdfast.losses")
                .description("Locks that were lost while they were held")
                .tags(tags)
                .withRegistry(registry);
        this.renewals = Counter.builder("holdfast.renewals")
                .description("Claims that were renewed, or were not")
                .tags(tags)
                .withRegistry(registry);
        this.renewalsLate = Counter.builder("holdfast.renewals.late")
                .description("Held locks whose renewal was overdue")
                .tags(tags)
                .withRegistry(registry);
    }

    /**
     * Metrics like these, with further tags on each of them, for another client. What this object records stays as it is.
     *
     * @param further tags that have none of the names above
     */
    public HoldfastMetrics withTags(Iterable<Tag> further) {
        HolderLookup lookup = holders == null ? null : holders.forAnotherClient();
        return new HoldfastMetrics(registry, groups, lookup, tags.and(further));
    }

    /**
     * Makes a client that is measured.
     *
     * @param builder its settings; this is added to the observers
     * @throws RuntimeException whatever {@link Holdfast.Builder#connect} throws
     */
    public Holdfast connect(Holdfast.Builder builder) {
        Holdfast locks = builder.observer(this).connect();
        bindTo(locks);
        return locks;
    }

    /** Names the store of a client that was given this as its observer, and measures how many locks it holds and waits for. */
    public synchronized void bindTo(Holdfast locks) {
        store = locks.traits().product();
        if (holders != null) {
            holders.bindTo(locks);
        }
        // A registry keeps the gauge that it has, also that of a client which was closed.
        gauges.forEach(registry::remove);
        gauges = List.of(
                Gauge.builder("holdfast.held", locks, Holdfast::heldCount)
                        .description("Locks that this client holds")
                        .tags(tags.and("store", store))
                        .register(registry),
                Gauge.builder("holdfast.waiting", locks, Holdfast::waitingCount)
                        .description("Acquisitions of this client that wait")
                        .tags(tags.and("store", store))
                        .register(registry));
    }

    @Override
    public @Nullable Acquisition acquireStarted(String name, Kind kind) {
        HolderLookup lookup = holders;
        if (lookup == null) {
            return null;
        }
        HolderLookup.Wait begun = lookup.begin(name);
        return (outcome, waited) -> ended(name, kind, outcome, waited, lookup.end(begun));
    }

    @Override
    public void acquireEnded(String name, Kind kind, Outcome outcome, Duration waited) {
        ended(name, kind, outcome, waited, HolderLookup.UNKNOWN);
    }

    private void ended(String name, Kind kind, Outcome outcome, Duration waited, String heldBy) {
        String group = groups.of(name);
        String ended = lower(outcome);
        acquire.withTags("store", store, "lock", group, "kind", lower(kind), "outcome", ended)
                .record(waited);
        if (waited.compareTo(SHORTEST_WAIT) >= 0) {
            Tags tags = Tags.of("store", store, "lock", group, "outcome", ended);
            wait.withTags(holders == null ? tags : tags.and("held.by", heldBy)).record(waited);
        }
    }

    @Override
    public void released(String name, Duration held) {
        hold.withTags("store", store, "lock", groups.of(name)).record(held);
    }

    @Override
    public void handedOff(String name, int times) {
        handOffs.withTags("store", store, "lock", groups.of(name)).increment(times);
    }

    @Override
    public void renewed(int claims, int failed, Duration took) {
        renewals.withTags("store", store, "result", "ok").increment(claims - failed);
        renewals.withTags("store", store, "result", "failed").increment(failed);
    }

    @Override
    public void renewalLate(String name, Duration remaining) {
        renewalsLate.withTags("store", store, "lock", groups.of(name)).increment();
    }

    @Override
    public void requestEnded(Request request, boolean failed, Duration took) {
        requests.withTags("store", store, "request", lower(request), "result", failed ? "failed" : "ok")
                .record(took);
    }

    @Override
    public void lost(String name, LossReason reason) {
        losses.withTags("store", store, "lock", groups.of(name), "reason", lower(reason))
                .increment();
    }

    private static String lower(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }
}
