package dev.holdfast.memcached.record;

import com.spotify.folsom.MemcacheStatus;
import dev.holdfast.memcached.client.Connection;
import dev.holdfast.memcached.client.Connection.Written;
import dev.holdfast.memcached.client.MemcachedErrors;
import dev.holdfast.memcached.client.ServerTime;
import dev.holdfast.memcached.client.Version;
import dev.holdfast.memcached.record.RecordUpdates.Start;
import dev.holdfast.memcached.record.SeenVersions.Seen;
import dev.holdfast.memcached.record.Transition.Outcome;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

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
     * @param content the record as it is in the server now
     */
    record Result<T>(T answer, RecordContent content) {}

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

    /** Runs the operation. */
    CompletionStage<Result<T>> run(Start assumed) {
        ServerTime time = connection.time();
        if (time == null) {
            timeWasRead = true;
            return connection.readTime().thenCompose(read -> start(assumed, read));
        }
        return start(assumed, time);
    }

    private CompletionStage<Result<T>> start(Start assumed, ServerTime time) {
        Seen last = assumed == Start.READ ? null : seen.of(name, connection);
        if (last != null) {
            return attempt(last.version(), last.content(), time, false);
        }
        return assumed == Start.ASSUMED_FREE
                ? attempt(Version.ABSENT, StoredRecord.read(name, Version.ABSENT, time), time, false)
                : readAgain(time);
    }

    private CompletionStage<Result<T>> readAgain(ServerTime time) {
        return connection.read(key).thenCompose(version -> attemptOn(version, time));
    }

    private CompletionStage<Result<T>> attemptOn(Version read, ServerTime time) {
        return attempt(read, StoredRecord.read(name, read, time), time, true);
    }

    private CompletionStage<Result<T>> attempt(
            Version version, RecordContent content, ServerTime time, boolean wasRead) {
        StoredRecord stored = new StoredRecord(content, time, time.latest(clock.nanoTime()));
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
        return wasRead ? CompletableFuture.completedFuture(new Result<>(outcome.answer(), content)) : readAgain(time);
    }

    private CompletionStage<Result<T>> write(StoredRecord stored, Version version, ServerTime time, T answer) {
        if (++attempts > MAX_ATTEMPTS) {
            throw StoreException.unavailable(
                    Effect.NONE,
                    "The record of \"" + name + "\" was changed by others " + MAX_ATTEMPTS + " times in a row",
                    null);
        }
        RecordContent content = stored.content();
        if (content.isEmpty() && version.isAbsent()) {
            return CompletableFuture.completedFuture(new Result<>(answer, content));
        }
        int ttl = stored.secondsToLive(content);
        if (!effects.beginWrite()) {
            throw StoreException.unavailable(Effect.NONE, "The time for \"" + name + "\" was over", null);
        }
        if (content.isEmpty()) {
            return connection.remove(key, version).thenCompose(status -> removed(status, content, time, answer));
        }
        byte[] text = RecordText.write(content);
        CompletionStage<Written> written =
                version.isAbsent() ? connection.add(key, text, ttl) : connection.replace(key, version, text, ttl);
        return written.thenCompose(done -> written(done, text, content, time, answer));
    }

    private CompletionStage<Result<T>> removed(
            MemcacheStatus status, RecordContent content, ServerTime time, T answer) {
        seen.forget(name);
        if (status == MemcacheStatus.OK) {
            return CompletableFuture.completedFuture(new Result<>(answer, content));
        }
        checkConflict(new Written(status, Version.ABSENT));
        return readAgain(time);
    }

    private CompletionStage<Result<T>> written(
            Written written, byte[] text, RecordContent content, ServerTime time, T answer) {
        Version after = written.after();
        if (!written.isDone()) {
            seen.forget(name);
            checkConflict(written);
            return attemptOn(after, time);
        }
        RecordContent now = Arrays.equals(text, after.value())
                ? content.numbered(time.started() + after.unique())
                : readAfterWrite(after, time);
        seen.saw(name, new Seen(connection, after, now));
        return CompletableFuture.completedFuture(new Result<>(answer, now));
    }

    private RecordContent readAfterWrite(Version after, ServerTime time) {
        try {
            return StoredRecord.read(name, after, time);
        } catch (StoreException unreadable) {
            // The write has had its effect; what somebody else has made of it cannot be read.
            throw StoreException.unavailable(Effect.UNKNOWN, String.valueOf(unreadable.getMessage()), unreadable);
        }
    }

    private void checkConflict(Written written) {
        if (!written.isConflict()) {
            throw MemcachedErrors.refusedValue(written.status(), connection.toString());
        }
        effects.refused();
    }
}
