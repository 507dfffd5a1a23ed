package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.DistributedLock;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.fault.Fault;
import dev.holdfast.testkit.fault.FaultyStore;
import dev.holdfast.testkit.fault.ForwardingStore;
import dev.holdfast.testkit.fault.Verb;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The time of a grant counts from before the request that brought it was sent (law 5). The store may have begun to count then,
 * and a reply that was long on its way must not make the holder believe in more than is left.
 */
class GrantTimeTest extends EngineFixture {

    /** How long the reply is on its way. It is shorter than the time after which the engine asks again. */
    private static final Duration ON_ITS_WAY = Duration.ofSeconds(1);

    /** What is left of a lease when the reply comes. */
    private static Duration leftOf(Duration lease) {
        Duration margin = lease.dividedBy(100).plusMillis(2);
        return lease.minus(margin).minus(ON_ITS_WAY);
    }

    @ParameterizedTest
    @EnumSource(
            value = Verb.class,
            names = {"TRY_ACQUIRE", "TRY_ACQUIRE_ALL", "ENQUEUE"})
    void whatIsGrantedCountsFromTheRequest(Verb verb) {
        DistributedLock lock = locks.lock("time");
        DistributedLock both = locks.multiLock("time", "other");
        Callable<Lease> acquisition = switch (verb) {
            case TRY_ACQUIRE -> () -> lock.tryAcquire().orElseThrow();
            case TRY_ACQUIRE_ALL -> () -> both.tryAcquire().orElseThrow();
            default -> lock::acquire;
        };
        network.next(verb, Fault.HANG_REPLY);
        CompletableFuture<Lease> acquiring = a.start(acquisition);
        Wait.until("the reply hangs", () -> network.hanging() == 1);
        clock.advance(ON_ITS_WAY);
        network.letGo();
        Lease lease = Actor.end(acquiring);
        assertThat(lease.remaining()).isEqualTo(leftOf(LEASE));
        lease.release();
    }

    /** Less than half of the lease is left when the reply comes, so that nobody gets the grants. */
    @Test
    void severalThatAreHalfOverAreNotHandedOut() {
        LockOptions brief =
                LockOptions.defaults().withFixedLease(ON_ITS_WAY.multipliedBy(3).dividedBy(2));
        network.next(Verb.TRY_ACQUIRE_ALL, Fault.HANG_REPLY);
        CompletableFuture<Optional<Lease>> acquiring =
                a.park(locks.multiLock(List.of("time", "other"), brief)::tryAcquire);
        clock.advance(ON_ITS_WAY);
        network.letGo();
        assertThat(Actor.end(acquiring)).isEmpty();
        awaitUnused("time");
        awaitUnused("other");
    }

    /**
     * A store whose releases answer with what they have granted, as those of servers do. What it pushes is on its way until the
     * test lets it go.
     */
    private static final class HandingStore extends ForwardingStore {

        private final List<Released.Handed> handed = new ArrayList<>();
        private final List<Runnable> pushes = new ArrayList<>();

        private HandingStore(MemoryLockStore memory) {
            super(memory);
        }

        @Override
        public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
            return super.enqueue(claim, new ClaimListener() {
                private boolean waits;

                @Override
                public void waiting(int position, Duration retryAfter) {
                    waits = true;
                    listener.waiting(position, retryAfter);
                }

                @Override
                public void granted(Granted granted) {
                    if (waits) {
                        handed.add(new Released.Handed(claim.id(), granted));
                        pushes.add(() -> listener.granted(granted));
                    } else {
                        listener.granted(granted);
                    }
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
        public CompletionStage<Released> release(Claim claim) {
            return super.release(claim).thenApply(released -> {
                Released answer = new Released(released.wasOwner(), handed);
                handed.clear();
                return answer;
            });
        }
    }

    @Test
    void whatIsPushedCountsFromTheLastAnswerThatSaidStillWaiting() {
        HandingStore slow = new HandingStore(memory);
        c.run(rival.lock("time")::lock);
        CompletableFuture<Lease> waiting = b.park(client(slow).lock("time")::acquire);
        clock.advance(HAND_OFF_TIME);
        c.run(rival.lock("time")::unlock);
        clock.advance(ON_ITS_WAY);
        slow.pushes.forEach(Runnable::run);
        Lease lease = Actor.end(waiting);
        assertThat(lease.remaining())
                .isEqualTo(leftOf(MemoryLockStore.TICKET_TTL).minus(HAND_OFF_TIME));
        lease.release();
    }

    @Test
    void whatTheOwnReleaseHandsOverCountsFromThatRelease() {
        FaultyStore handing = new FaultyStore(new HandingStore(memory));
        DistributedLock lock = client(handing).lock("time");
        a.run(lock::lock);
        handOffTimeIsOver();
        CompletableFuture<Lease> waiting = b.park(lock::acquire);
        awaitWaiters("time", 1);
        clock.advance(HAND_OFF_TIME);
        handing.next(Verb.RELEASE, Fault.HANG_REPLY);
        CompletableFuture<Void> unlocking = a.begin(lock::unlock);
        Wait.until("the reply hangs", () -> handing.hanging() == 1);
        clock.advance(ON_ITS_WAY);
        handing.letGo();
        Actor.end(unlocking);
        Lease lease = Actor.end(waiting);
        assertThat(lease.remaining()).isEqualTo(leftOf(MemoryLockStore.TICKET_TTL));
        lease.release();
    }

    /**
     * The reply to the first request of a wait is lost; its claim is granted, and that ends. When the request was sent again, and
     * the claim waits once more, the reply comes that tells of the grant.
     */
    @Test
    void whatEndedBeforeTheClaimWasQueuedAgainIsNoGrant() {
        LockOptions brief = LockOptions.defaults().withLease(ON_ITS_WAY);
        FaultyStore handing = new FaultyStore(new HandingStore(memory)).delayOn(clock::after);
        DistributedLock lock = client(handing).lock("time", brief);
        a.run(lock::lock);
        handOffTimeIsOver();
        handing.next(Verb.ENQUEUE, Fault.DROP_REPLY).next(Verb.RELEASE, Fault.HANG_REPLY);
        handing.randomly(1, 1, Fault.REFUSE);
        CompletableFuture<Lease> waiting = b.start(lock::acquire);
        awaitWaiters("time", 1);
        CompletableFuture<Void> unlocking = a.begin(lock::unlock);
        Wait.until("the reply hangs", () -> handing.hanging() == 1);
        clock.advance(ON_ITS_WAY.plus(HAND_OFF_TIME));
        c.run(rival.lock("time")::lock);
        long tokenOfRival = c.get(rival.lock("time")::token);
        handing.randomly(0, 0);
        clock.advanceUntil("the claim is queued again", HAND_OFF_TIME, () -> waiters("time") == 1);
        handing.letGo();
        clock.settle();
        assertThat(waiting).isNotDone();
        c.run(rival.lock("time")::unlock);
        clock.advanceUntil("it is granted", HAND_OFF_TIME, waiting::isDone);
        Lease lease = Actor.end(waiting);
        assertThat(lease.token()).isGreaterThan(tokenOfRival);
        Actor.end(unlocking);
        lease.release();
    }
}
