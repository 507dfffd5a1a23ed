package dev.holdfast.internal.time;

import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Does the work of an engine in the place of its threads, and draws its random numbers, so that a test decides what
 * happens next and a seed repeats it. An engine without one has threads of its own. Called by the one thread that runs at a time.
 */
public interface Simulator {

    /** A set for threads; with a simulator, one whose order a seed repeats. */
    static <T> Set<T> setFor(@Nullable Simulator simulator) {
        return simulator == null ? ConcurrentHashMap.newKeySet() : new LinkedHashSet<>();
    }

    /** Does a piece of work later, as a thread of the engine would; never before this returns. */
    void later(Runnable work);

    /** An agenda has come to be. Somebody has to make its {@link Agenda#pass passes} when they are {@link Agenda#wakeAt due}. */
    void began(Agenda<?> agenda);

    /** A number from 0 to {@code bound - 1}. */
    long random(long bound);

    /** Goes on with the work until a condition holds, for so many nanoseconds at most, as a thread that waits lets others do. */
    void await(BooleanSupplier condition, long nanos);
}
