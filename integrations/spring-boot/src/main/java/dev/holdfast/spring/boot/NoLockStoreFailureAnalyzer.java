package dev.holdfast.spring.boot;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Says what to set when there is no store. */
final class NoLockStoreFailureAnalyzer extends AbstractFailureAnalyzer<NoLockStoreException> {

    @Override
    protected FailureAnalysis analyze(Throwable rootFailure, NoLockStoreException cause) {
        return new FailureAnalysis(cause.problem(), cause.remedy(), cause);
    }
}
