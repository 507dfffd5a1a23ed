package dev.holdfast.testkit;

import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreTraits;
import dev.holdfast.testkit.fault.Fault;
import dev.holdfast.testkit.fault.FaultyStore;
import dev.holdfast.testkit.fault.ForwardingStore;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The TCK works for a store that polls by its clock: the answer to an enqueue comes on another thread, what follows it comes late, and
 * it inspects names that have waiters all the time. Two handles share the data.
 */
class PolledMemoryLockStoreTest extends LockStoreTck {

    private static final Duration POLL_EVERY = Duration.ofMillis(2);

    private LockStore shared;

    @Override
    protected LockStore open(MonotonicClock clock) {
        shared = new MemoryLockStore(clock);
        return new PolledStore(shared, clock);
    }

    @Override
    protected Optional<LockStore> openAnother(MonotonicClock clock) {
        return Optional.of(new PolledStore(shared, clock));
    }

    private static final class PolledStore extends ForwardingStore {
        private final FaultyStore link;
        private final MonotonicClock clock;
        private final ConcurrentLinkedQueue<Runnable> notifications = new ConcurrentLinkedQueue<>();
        private final Set<LockName> polled = ConcurrentHashMap.newKeySet();
        private volatile boolean closed;

        PolledStore(LockStore store, MonotonicClock clock) {
            this(new FaultyStore(store), clock);
        }

        private PolledStore(FaultyStore link, MonotonicClock clock) {
            super(link);
            this.link = link;
            this.clock = clock;
            Thread poller = new Thread(this::poll, "poller");
            poller.setDaemon(true);
            poller.start();
        }

        private void poll() {
            while (!closed) {
                polled.forEach(name -> store().inspect(name));
                for (Runnable notification = notifications.poll();
                        notification != null;
                        notification = notifications.poll()) {
                    notification.run();
                }
                clock.parkNanos(this, POLL_EVERY.toNanos());
            }
        }

        @Override
        public StoreTraits traits() {
            return ChangedTraits.of(store().traits())
                    .named("polled")
                    .withoutPush()
                    .get();
        }

        @Override
        public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
            AtomicBoolean isClosed = new AtomicBoolean();
            AtomicBoolean isAnswered = new AtomicBoolean();
            polled.add(claim.name());
            ClaimListener later = new ClaimListener() {
                @Override
                public void waiting(int position, Duration retryAfter) {
                    notifyLater(() -> listener.waiting(position, retryAfter));
                }

                @Override
                public void granted(Granted granted) {
                    notifyLater(() -> listener.granted(granted));
                }

                @Override
                public void ended(Renewed.Reason reason) {
                    notifyLater(() -> listener.ended(reason));
                }

                @Override
                public void failed(StoreException cause) {
                    notifyLater(() -> listener.failed(cause));
                }

                private void notifyLater(Runnable notification) {
                    if (closed) {
                        notification.run();
                        return;
                    }
                    Runnable unlessClosed = () -> {
                        if (!isClosed.get()) {
                            notification.run();
                        }
                    };
                    if (isAnswered.get()) {
                        notifications.add(unlessClosed);
                    } else {
                        CompletableFuture.runAsync(unlessClosed);
                    }
                }
            };
            ListenerRegistration registration = store().enqueue(claim, later);
            isAnswered.set(true);
            return () -> {
                isClosed.set(true);
                registration.close();
            };
        }

        @Override
        public void close() {
            closed = true;
            link.randomly(0, 1, Fault.REFUSE);
        }
    }
}
