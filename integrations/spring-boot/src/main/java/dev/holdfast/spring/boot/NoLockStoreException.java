package dev.holdfast.spring.boot;

import dev.holdfast.LockException;
import org.jspecify.annotations.Nullable;

/** The application has nothing to keep its locks in, or nothing that can be used. */
final class NoLockStoreException extends LockException {

    private static final long serialVersionUID = 1L;

    private final String problem;
    private final String remedy;

    NoLockStoreException(String problem, String remedy) {
        this(problem, remedy, null);
    }

    NoLockStoreException(String problem, String remedy, @Nullable Throwable cause) {
        super(problem + ". " + remedy, cause);
        this.problem = problem;
        this.remedy = remedy;
    }

    String problem() {
        return problem;
    }

    String remedy() {
        return remedy;
    }
}
