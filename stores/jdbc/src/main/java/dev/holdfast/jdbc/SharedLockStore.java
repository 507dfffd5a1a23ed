package dev.holdfast.jdbc;

import dev.holdfast.jdbc.config.StoreOptions;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.spi.StoreTraits;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One client's part of a store that all clients of this JVM have in common which use the same file with the same options. So they
 * queue for the file in memory, one of them that releases a lock notifies the next one directly, and one thread looks at the file for all
 * of them. The last client to be closed closes the store.
 *
 * <p>Thread-safe.
 */
final class SharedLockStore implements LockStore {

    private static final Map<Key, Shared> OPEN = new ConcurrentHashMap<>();

    /**
     * What clients must agree in to share a store. A file that was deleted and made anew is another one.
     *
     * @param id the file's identity in its file system; null if that has none
     */
    record Key(Path path, @Nullable Object id, StoreOptions options, String boot, MonotonicClock clock) {}

    /**
     * A store that was opened for its first client.
     *
     * @param check what is run for each further client: the tables may have been changed since
     */
    record Opened(RowLockStore store, Runnable check) {}

    private static final class Shared {

        private final Key key;
        /** Changed while the map is locked for the key. */
        private int clients;

        private @Nullable Opened opened;

        Shared(Key key) {
            this.key = key;
        }

        static Shared enter(Key key) {
            Shared entered = OPEN.compute(key, (same, present) -> {
                Shared shared = present == null ? new Shared(key) : present;
                shared.clients++;
                return shared;
            });
            if (entered == null) {
                throw new AssertionError("compute returns what it has put");
            }
            return entered;
        }

        synchronized RowLockStore open(Supplier<Opened> opener) {
            Opened present = opened;
            if (present == null) {
                present = opener.get();
                opened = present;
            } else {
                present.check().run();
            }
            return present.store();
        }

        // It is closed after it has left the map: who opens the file meanwhile uses it like another process.
        void leave() {
            boolean others =
                    OPEN.computeIfPresent(key, (same, shared) -> --shared.clients == 0 ? null : shared) != null;
            if (!others) {
                close();
            }
        }

        private synchronized void close() {
            if (opened != null) {
                opened.store().close();
            }
        }
    }

    private final Shared shared;
    private final RowLockStore store;
    private final Set<Waiting> waiting = ConcurrentHashMap.newKeySet();
    private volatile boolean closed;

    private SharedLockStore(Shared shared, RowLockStore store) {
        this.shared = shared;
        this.store = store;
    }

    static SharedLockStore open(Key key, Supplier<Opened> opener) {
        Shared shared = Shared.enter(key);
        boolean ready = false;
        try {
            SharedLockStore client = new SharedLockStore(shared, shared.open(opener));
            ready = true;
            return client;
        } finally {
            if (!ready) {
                shared.leave();
            }
        }
    }

    /** How many stores are open in this JVM. */
    static int openStores() {
        return OPEN.size();
    }

    @Override
    public StoreTraits traits() {
        return store.traits();
    }

    @Override
    public CompletionStage<Attempt> tryAcquire(Claim claim) {
        return call(() -> store.tryAcquire(claim));
    }

    @Override
    public CompletionStage<List<Attempt>> tryAcquireAll(List<Claim> claims) {
        return call(() -> store.tryAcquireAll(claims));
    }

    @Override
    public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
        if (closed) {
            listener.failed(isClosed());
            return ListenerRegistration.NONE;
        }
        Waiting waits = new Waiting(listener);
        waiting.add(waits);
        waits.registration = store.enqueue(claim, waits);
        // The client may have been closed, or the claim granted, before there was a registration.
        if (closed || !waiting.contains(waits)) {
            waits.close();
        }
        return waits;
    }

    @Override
    public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
        return call(() -> store.renew(claims));
    }

    @Override
    public CompletionStage<Released> release(Claim claim) {
        return call(() -> store.release(claim));
    }

    @Override
    public CompletionStage<Optional<ResourceState>> inspect(LockName name) {
        return call(() -> store.inspect(name));
    }

    @Override
    public CompletionStage<List<LockName>> list(String prefix, int limit) {
        return call(() -> store.list(prefix, limit));
    }

    private <T> CompletionStage<T> call(Supplier<CompletionStage<T>> call) {
        return closed ? CompletableFuture.failedStage(isClosed()) : call.get();
    }

    private StoreException isClosed() {
        return StoreException.unavailable(Effect.NONE, "This client of the " + store + " is closed", null);
    }

    @Override
    public void close() {
        synchronized (this) {
            if (closed) {
                return;
            }
            closed = true;
        }
        waiting.forEach(Waiting::close);
        shared.leave();
    }

    @Override
    public String toString() {
        return store.toString();
    }

    /** A claim of this client that waits, so that its registration ends with the client. */
    private final class Waiting implements ClaimListener, ListenerRegistration {

        private final ClaimListener listener;
        private volatile ListenerRegistration registration = ListenerRegistration.NONE;

        Waiting(ClaimListener listener) {
            this.listener = listener;
        }

        @Override
        public void waiting(int position, Duration retryAfter) {
            if (waiting.contains(this)) {
                listener.waiting(position, retryAfter);
            }
        }

        @Override
        public void granted(Granted granted) {
            if (waiting.remove(this)) {
                listener.granted(granted);
            }
        }

        @Override
        public void ended(Renewed.Reason reason) {
            if (waiting.remove(this)) {
                listener.ended(reason);
            }
        }

        @Override
        public void failed(StoreException cause) {
            if (waiting.remove(this)) {
                listener.failed(cause);
            }
        }

        @Override
        public void close() {
            waiting.remove(this);
            registration.close();
        }
    }
}
