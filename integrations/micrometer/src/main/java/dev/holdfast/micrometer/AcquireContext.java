package dev.holdfast.micrometer;

import dev.holdfast.LockObserver.Kind;
import dev.holdfast.LockObserver.Outcome;
import io.micrometer.observation.Observation;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** What is known of one acquisition, for an {@link AcquireConvention}. The end is not known while it lasts. Thread-safe. */
public final class AcquireContext extends Observation.Context {

    private final String store;
    private final String lockName;
    private final String lockGroup;
    private final Kind kind;
    private volatile @Nullable End end;

    private record End(Outcome outcome, Duration waited) {}

    AcquireContext(String store, String lockName, String lockGroup, Kind kind) {
        this.store = store;
        this.lockName = lockName;
        this.lockGroup = lockGroup;
        this.kind = kind;
    }

    void ended(Outcome outcome, Duration waited) {
        end = new End(outcome, waited);
    }

    /** The product of the store, in small letters. */
    public String store() {
        return store;
    }

    /** The name of the lock, of which there may be very many. */
    public String lockName() {
        return lockName;
    }

    /** The group of the name, of which there are few: see {@link LockGroups}. */
    public String lockGroup() {
        return lockGroup;
    }

    /** What is acquired. */
    public Kind kind() {
        return kind;
    }

    /** How it ended; null while it lasts. */
    public @Nullable Outcome outcome() {
        End known = end;
        return known == null ? null : known.outcome();
    }

    /** How long it took; null while it lasts. */
    public @Nullable Duration waited() {
        End known = end;
        return known == null ? null : known.waited();
    }
}
