package dev.holdfast.spring.boot;

import dev.holdfast.spring.InvalidLockedMethodException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Says which method cannot be locked, and what to do. */
final class InvalidLockedMethodFailureAnalyzer extends AbstractFailureAnalyzer<InvalidLockedMethodException> {

    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, InvalidLockedMethodException cause) {
        return new FailureAnalysis(cause.problem(), cause.remedy(), cause);
    }
}
