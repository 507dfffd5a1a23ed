package dev.holdfast.spring.boot;

import dev.holdfast.StoreUnavailableException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Says which store could not be opened when the application starts. */
final class StoreUnavailableFailureAnalyzer extends AbstractFailureAnalyzer<StoreUnavailableException> {

    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, StoreUnavailableException cause) {
        return new FailureAnalysis(
                cause.getMessage(),
                "Start the store, or correct holdfast.url, the Redis connection (spring.data.redis) or the DataSource (spring.datasource)"
                        + " from which it was taken",
                cause);
    }
}
