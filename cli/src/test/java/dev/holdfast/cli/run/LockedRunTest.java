package dev.holdfast.cli.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockLostException;
import dev.holdfast.LockOptions;
import dev.holdfast.cli.output.Trace;
import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.ManualClock;
import dev.holdfast.testkit.fault.ForwardingStore;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class LockedRunTest {

    private static final LockRequest MUTEX = new LockRequest(List.of("x"), LockRequest.Kind.MUTEX, 1, 1);

    /** It stands still, so that a lease is renewed by who acquires it only. */
    private final ManualClock clock = new ManualClock();

    private final ShortGrants store = new ShortGrants(clock);
    private final Trace trace = new Trace(false, System.err, 0);

    /** Grants for two seconds whatever was asked, as to a waiter, and has lost some of them when they are renewed. */
    private static final class ShortGrants extends ForwardingStore {

        private final AtomicInteger lossesLeft = new AtomicInteger();
        private final AtomicInteger renewals = new AtomicInteger();

        private ShortGrants(MonotonicClock clock) {
            super(new MemoryLockStore(clock));
        }

        @Override
        public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
            return super.enqueue(claim, new ClaimListener() {
                @Override
                public void waiting(int position, Duration retryAfter) {
                    listener.waiting(position, retryAfter);
                }

                @Override
                public void granted(Granted granted) {
                    listener.granted(new Granted(granted.counter(), Duration.ofSeconds(2)));
                }

                @Override
                public void ended(Renewed.Reason reason) {
                    listener.ended(reason);
                }

                @Override
                public void failed(StoreException cause) {
                    listener.failed(cause);
                }
            });
        }

        @Override
        public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
            renewals.incrementAndGet();
            if (lossesLeft.getAndDecrement() > 0) {
                claims.forEach(super::release);
                return CompletableFuture.completedStage(List.of(new Renewed.Gone(Renewed.Reason.EXPIRED)));
            }
            return super.renew(claims);
        }
    }

    private Holdfast connect() {
        return Holdfast.builder().store(store).clock(clock).connect();
    }

    private Lease acquire(Holdfast locks, Duration maxWait) throws InterruptedException {
        return LockedRun.acquire(locks, MUTEX, LockOptions.defaults(), maxWait, trace);
    }

    @Test
    void aLockThatIsLostBeforeTheCommandHasStartedIsWaitedForAgain() throws InterruptedException {
        store.lossesLeft.set(3);
        try (Holdfast locks = connect()) {
            Lease lease = acquire(locks, Duration.ofMinutes(1));
            assertThat(lease.remaining()).isGreaterThan(Duration.ofSeconds(15));
            assertThat(store.renewals).hasValue(4);
        }
    }

    @Test
    void aStoreThatLosesEveryGrantIsGivenUp() {
        store.lossesLeft.set(Integer.MAX_VALUE);
        try (Holdfast locks = connect()) {
            assertThatThrownBy(() -> acquire(locks, Duration.ofMinutes(1))).isInstanceOf(LockLostException.class);
            assertThat(store.renewals).hasValue(1 + LockedRun.MAX_LOST_BEFORE_START);
        }
    }
}
