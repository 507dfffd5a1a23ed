package dev.holdfast.workload;

import java.time.Duration;

/** A client of a lock library, connected to its store. Thread-safe; the sections that it makes are not. */
public interface Subject extends AutoCloseable {

    /** A section of a mutex, or of what the subject has instead. */
    Section mutex(String name);

    /** A section of the read lock. */
    default Section reader(String name) {
        throw new UnsupportedOperationException(getClass().getSimpleName() + " has no read lock");
    }

    /** A section of the write lock. */
    default Section writer(String name) {
        throw new UnsupportedOperationException(getClass().getSimpleName() + " has no write lock");
    }

    /** A section with a condition. */
    default ConditionSection condition(String name) {
        throw new UnsupportedOperationException(getClass().getSimpleName() + " has no condition");
    }

    @Override
    void close() throws Exception;

    /** Connects a subject. */
    @FunctionalInterface
    interface Opener {

        /**
         * Connects.
         *
         * @param subject which library, and how it is used
         * @param target where its store is
         * @param lease how long a lock outlives its holder, if the library has such a setting
         */
        Subject open(String subject, String target, Duration lease) throws Exception;
    }
}
