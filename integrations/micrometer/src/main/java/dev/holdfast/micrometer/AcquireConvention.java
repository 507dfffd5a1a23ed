package dev.holdfast.micrometer;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;

/**
 * Names the observation of an acquisition, and chooses its key values. {@link DefaultAcquireConvention} is the one that is used
 * unless another one is given. It is asked at the beginning and at the end.
 */
public interface AcquireConvention extends ObservationConvention<AcquireContext> {

    @Override
    default boolean supportsContext(Observation.Context context) {
        return context instanceof AcquireContext;
    }
}
