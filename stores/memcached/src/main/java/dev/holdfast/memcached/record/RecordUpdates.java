package dev.holdfast.memcached.record;

import dev.holdfast.memcached.client.Connection;
import dev.holdfast.memcached.client.Connections;
import dev.holdfast.memcached.client.MemcachedErrors;
import dev.holdfast.memcached.config.MemcachedUrl;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.store.TimeLimit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BiFunction;

/** Runs operations on records, each within the time limit. Thread-safe. */
public final class RecordUpdates implements AutoCloseable {

    private final MemcachedUrl url;
    private final Connections connections;
    private final LockKeys keys;
    private final MonotonicClock clock;
    private final TimeLimit limit;
    private final SeenVersions seen = new SeenVersions();
    private final Turns turns = new Turns();

    /** What the first attempt of an operation is made on. */
    public enum Start {
        /** What this client wrote last, or else no record: for what is mostly done to free names. */
        ASSUMED_FREE,
        /** What this client wrote last, or else what is read. */
        LAST_SEEN,
        /** What is read. */
        READ
    }

    public RecordUpdates(MemcachedUrl url, MonotonicClock clock) {
        this.url = url;
        this.clock = clock;
        this.connections = new Connections(url, clock);
        this.keys = new LockKeys(url.options().prefix());
        this.limit = new TimeLimit(url.options().timeout());
    }

    /**
     * Runs an operation.
     *
     * @param finish makes the answer from that of the transition and from the record as it is in the server then
     */
    public <T, R> CompletionStage<R> run(
            LockName name, Start start, Transition<T> transition, BiFunction<T, RecordContent, R> finish) {
        Effects effects = new Effects();
        CompletableFuture<R> result = new CompletableFuture<>();
        TimeLimit.Call call = limit.begin(() -> result.completeExceptionally(StoreException.unavailable(
                effects.end(),
                url + " did not answer about \"" + name + "\" within "
                        + url.options().timeout().toMillis() + " ms. Is the server overloaded or frozen?",
                null)));
        result.whenComplete((answer, failure) -> call.end());
        turns.run(
                name,
                result,
                () -> connections
                        .connection()
                        .thenCompose(connection -> new RecordUpdate<>(
                                        name, keys.of(name), connection, seen, effects, clock, transition)
                                .run(start))
                        .thenApply(ended -> finish.apply(ended.answer(), ended.content()))
                        .whenComplete((answer, failure) -> {
                            if (failure == null) {
                                result.complete(answer);
                            } else {
                                result.completeExceptionally(
                                        MemcachedErrors.of(failure, effects.end(), url.toString()));
                            }
                        }));
        return result;
    }

    /** Opens the connection. */
    public CompletionStage<Connection> connect() {
        return connections.connection();
    }

    /** The names that begin with a text and have a record. */
    public CompletionStage<List<LockName>> namesThatBeginWith(String prefix) {
        CompletableFuture<List<LockName>> result = limit.on(connections
                .connection()
                .thenCompose(connection -> connections.keys(keys.start()).thenCompose(all -> names(connection, all)))
                .thenApply(all -> all.stream()
                        .filter(name -> name.value().startsWith(prefix))
                        .toList())
                .toCompletableFuture());
        return result.handle((names, failure) -> {
            if (failure != null) {
                throw MemcachedErrors.of(failure, Effect.NONE, url.toString());
            }
            return names;
        });
    }

    // The names of hashed keys are read from the records, all at once, because they are rare.
    private CompletionStage<List<LockName>> names(Connection connection, List<String> all) {
        List<LockName> plain =
                all.stream().flatMap(key -> keys.name(key).stream()).toList();
        CompletionStage<List<LockName>> names = CompletableFuture.completedStage(new ArrayList<>(plain));
        for (String key : all.stream().filter(keys::isHashed).toList()) {
            names = names.thenCombine(connection.read(key), (found, version) -> {
                StoredRecord.nameIn(version).ifPresent(found::add);
                return found;
            });
        }
        return names;
    }

    @Override
    public void close() {
        connections.close();
    }
}
