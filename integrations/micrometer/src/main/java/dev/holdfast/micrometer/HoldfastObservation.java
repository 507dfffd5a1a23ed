package dev.holdfast.micrometer;

import io.micrometer.common.docs.KeyName;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;
import io.micrometer.observation.docs.ObservationDocumentation;
import java.util.Locale;

/** The observations of locks, in the form from which Micrometer's tools make documentation. */
public enum HoldfastObservation implements ObservationDocumentation {

    /** An acquisition, from the call to the lock or to its failure, with the wait between them. */
    ACQUIRE {
        @Override
        public Class<? extends ObservationConvention<? extends Observation.Context>> getDefaultConvention() {
            return DefaultAcquireConvention.class;
        }

        @Override
        public KeyName[] getLowCardinalityKeyNames() {
            return AcquireKey.values();
        }
    };

    /** Not {@code holdfast.acquire}, which is a metric with other tags. */
    static final String NAME = "holdfast.lock.acquire";

    /** The keys of {@link #ACQUIRE}. Each has few values. */
    public enum AcquireKey implements KeyName {
        /** The product of the store, such as {@code redis}. */
        STORE,
        /** A group of names: see {@link LockGroups}. */
        LOCK,
        /** {@code mutex}, {@code read}, {@code write} or {@code permits}. */
        KIND,
        /** {@code acquired}, {@code busy}, {@code timed_out}, {@code interrupted}, {@code cancelled} or {@code failed}; {@code none} while it lasts. */
        OUTCOME,
        /** Whether it took 20 ms or more: {@code true} or {@code false}; {@code none} while it lasts. */
        WAITED;

        @Override
        public String asString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }
}
