package dev.holdfast.memcached.record;

import com.spotify.folsom.MemcacheStatus;
import dev.holdfast.memcached.client.Connection;
import dev.holdfast.memcached.client.Connection.Written;
import dev.holdfast.memcached.client.MemcachedErrors;
import dev.holdfast.memcached.client.ServerTime;
import dev.holdfast.memcached.client.Version;
import dev.holdfast.memcached.record.Transition.Outcome;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.store.ResourceRecord;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * One operation on the record of one name: applies a transition to the newest version and writes the result by
 * compare-and-set, again and again until nobody else has come in between. Each attempt is one round trip, because every
 * write is followed by a reading.
 *
 * <p>The first attempt may be made on a version that was not read but assumed: none, or the one that this client wrote
 * last. A write is correct all the same, because it fails if the assumption is wrong. Whatever writes nothing is
 * decided by a reading.
 */
final class RecordUpdate<T> {

    /**
     * How often the record may change in between. An attempt fails only because another one has succeeded.
     */
    private static final int MAX_ATTEMPTS = 100;

    private final LockName name;
    private final String key;
    private final Connection connection;
    private final SeenVersions seen;
    private final Effects effects;
    private final MonotonicClock clock;
    private final Transition<T> transition;
    private int attempts;
    private boolean timeWasRead;

    /**
     * What an operation ended with.
     *
     * @param record the record as it is in the server now
     */
    record Result<T>(T answer, ResourceRecord record) {}

    RecordUpdate(
            LockName name,
            String key,
            Connection connection,
            SeenVersions seen,
            Effects effects,
            MonotonicClock clock,
            Transition<T> transition) {
        this.name = name;
        this.key = key;
        this.connection = connection;
        this.seen = seen;
        this.effects = effects;
        this.clock = clock;
        this.transition = transition;
    }

    /**
     * Runs the operation.
     *
     * @param assumed the version for the first attempt; null to read it first
     */
    CompletionStage<Result<T>> run(@Nullable Version assumed) {
        ServerTime time = connection.time();
        if (time == null) {
            timeWasRead = true;
            return connection.readTime().thenCompose(read -> start(assumed, read));
        }
        return start(assumed, time);
    }

    private CompletionStage<Result<T>> start(@Nullable Version assumed, ServerTime time) {
        return assumed == null ? readAgain(time) : attempt(assumed, time, false);
    }

    private CompletionStage<Result<T>> readAgain(ServerTime time) {
        return connection.read(key).thenCompose(version -> attempt(version, time, true));
    }

    private CompletionStage<Result<T>> attempt(Version version, ServerTime time, boolean wasRead) {
        StoredRecord stored = new StoredRecord(name, version, time, time.latest(clock.nanoTime()));
        if (stored.mayHaveEnded() && !timeWasRead) {
            timeWasRead = true;
            return connection.readTime().thenCompose(this::readAgain);
        }
        Outcome<T> outcome;
        try {
            outcome = transition.apply(stored.record(), stored.now(), RecordText.NEW);
        } catch (StoreException refusal) {
            if (wasRead) {
                throw refusal;
            }
            return readAgain(time);
        }
        if (outcome.isChange()) {
            return write(stored, version, time, outcome.answer());
        }
        return wasRead
                ? CompletableFuture.completedStage(new Result<>(outcome.answer(), stored.record()))
                : readAgain(time);
    }

    private CompletionStage<Result<T>> write(StoredRecord stored, Version version, ServerTime time, T answer) {
        if (++attempts > MAX_ATTEMPTS) {
            throw StoreException.unavailable(
                    Effect.NONE,
                    "The record of \"" + name + "\" was changed by others " + MAX_ATTEMPTS + " times in a row",
                    null);
        }
        if (stored.isEmpty() && version.isAbsent()) {
            return CompletableFuture.completedStage(new Result<>(answer, stored.record()));
        }
        byte[] text = stored.text();
        int ttl = stored.secondsToLive();
        if (!effects.beginWrite()) {
            throw StoreException.unavailable(Effect.NONE, "The time for \"" + name + "\" was over", null);
        }
        if (stored.isEmpty()) {
            return connection.remove(key, version).thenCompose(status -> removed(status, stored, time, answer));
        }
        CompletionStage<Written> written =
                version.isAbsent() ? connection.add(key, text, ttl) : connection.replace(key, version, text, ttl);
        return written.thenCompose(done -> written(done, time, answer));
    }

    private CompletionStage<Result<T>> removed(MemcacheStatus status, StoredRecord stored, ServerTime time, T answer) {
        seen.forget(name);
        if (status == MemcacheStatus.OK) {
            return CompletableFuture.completedStage(new Result<>(answer, stored.record()));
        }
        checkConflict(new Written(status, Version.ABSENT));
        return readAgain(time);
    }

    private CompletionStage<Result<T>> written(Written written, ServerTime time, T answer) {
        if (!written.isDone()) {
            seen.forget(name);
            checkConflict(written);
            return attempt(written.after(), time, true);
        }
        seen.saw(name, connection, written.after());
        StoredRecord after = new StoredRecord(name, written.after(), time, time.latest(clock.nanoTime()));
        return CompletableFuture.completedStage(new Result<>(answer, after.record()));
    }

    private void checkConflict(Written written) {
        if (!written.isConflict()) {
            throw MemcachedErrors.refusedValue(written.status(), connection.toString());
        }
        effects.refused();
    }
}
