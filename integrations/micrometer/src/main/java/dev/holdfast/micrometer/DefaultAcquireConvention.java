package dev.holdfast.micrometer;

import dev.holdfast.LockObserver.Outcome;
import dev.holdfast.micrometer.HoldfastObservation.AcquireKey;
import io.micrometer.common.KeyValue;
import io.micrometer.common.KeyValues;
import java.time.Duration;
import java.util.Locale;

/** The convention that {@link HoldfastObservation#ACQUIRE} documents. It has no key with many values. Thread-safe. */
public class DefaultAcquireConvention implements AcquireConvention {

    /** A wait, as in the metric {@code holdfast.wait}. */
    private static final Duration SHORTEST_WAIT = Duration.ofMillis(20);

    @Override
    public String getName() {
        return HoldfastObservation.NAME;
    }

    @Override
    public String getContextualName(AcquireContext context) {
        return "acquire " + context.lockGroup();
    }

    @Override
    public KeyValues getLowCardinalityKeyValues(AcquireContext context) {
        Outcome outcome = context.outcome();
        Duration waited = context.waited();
        return KeyValues.of(
                AcquireKey.STORE.withValue(context.store()),
                AcquireKey.LOCK.withValue(context.lockGroup()),
                AcquireKey.KIND.withValue(lower(context.kind())),
                AcquireKey.OUTCOME.withValue(outcome == null ? KeyValue.NONE_VALUE : lower(outcome)),
                AcquireKey.WAITED.withValue(
                        waited == null ? KeyValue.NONE_VALUE : String.valueOf(waited.compareTo(SHORTEST_WAIT) >= 0)));
    }

    private static String lower(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT);
    }
}
