package dev.holdfast.spring.boot;

import dev.holdfast.LockException;

/** The application has nothing to keep its locks in. */
final class NoLockStoreException extends LockException {

    private static final long serialVersionUID = 1L;

    private final String problem;
    private final String remedy;

    NoLockStoreException(String problem, String remedy) {
        super(problem + ". " + remedy);
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
