package dev.holdfast.testkit;

import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimListener;
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
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The TCK does with a store that polls by its clock: whose listeners hear late and on another thread, and for which names
 * that are waited for are looked at all the time. Two handles share the data.
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
        private final ConcurrentLinkedQueue<Runnable> words = new ConcurrentLinkedQueue<>();
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
                for (Runnable word = words.poll(); word != null; word = words.poll()) {
                    word.run();
                }
                clock.parkNanos(this, POLL_EVERY.toNanos());
            }
        }

        @Override
        public StoreTraits traits() {
            StoreTraits t = store().traits();
            return new StoreTraits(
                    "polled",
                    true,
                    false,
                    true,
                    t.tokens(),
                    t.liveness(),
                    t.leaseStep(),
                    t.ticketTtl(),
                    t.callTimeout());
        }

        @Override
        public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
            AtomicBoolean silent = new AtomicBoolean();
            polled.add(claim.name());
            ClaimListener later = new ClaimListener() {
                @Override
                public void waiting(int position, Duration retryAfter) {
                    say(() -> listener.waiting(position, retryAfter));
                }

                @Override
                public void granted(long counter, Duration lease) {
                    say(() -> listener.granted(counter, lease));
                }

                @Override
                public void ended(Renewed.Reason reason) {
                    say(() -> listener.ended(reason));
                }

                @Override
                public void failed(StoreException cause) {
                    say(() -> listener.failed(cause));
                }

                private void say(Runnable word) {
                    if (closed) {
                        word.run();
                        return;
                    }
                    words.add(() -> {
                        if (!silent.get()) {
                            word.run();
                        }
                    });
                }
            };
            ListenerRegistration ticket = store().enqueue(claim, later);
            return () -> {
                silent.set(true);
                ticket.close();
            };
        }

        @Override
        public void close() {
            closed = true;
            link.randomly(0, 1, Fault.REFUSE);
        }
    }
}
