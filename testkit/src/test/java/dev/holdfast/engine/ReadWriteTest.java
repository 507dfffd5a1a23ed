package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.holdfast.DistributedLock;
import dev.holdfast.DistributedReadWriteLock;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockException;
import dev.holdfast.LockLostException;
import dev.holdfast.LockOptions;
import dev.holdfast.LossReason;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.testkit.fault.Fault;
import dev.holdfast.testkit.fault.ForwardingStore;
import dev.holdfast.testkit.fault.Verb;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Tests of read-write locks: many read at once, one writes alone, and neither side is starved. */
class ReadWriteTest extends EngineFixture {

    private final DistributedReadWriteLock pair = locks.readWriteLock("book");
    private final DistributedLock read = pair.readLock();
    private final DistributedLock write = pair.writeLock();
    private final DistributedLock theirRead = rival.readWriteLock("book").readLock();
    private final DistributedLock theirWrite = rival.readWriteLock("book").writeLock();

    @Test
    void readersOfOneJvmShareOneGrantAndOneTrip() {
        List<Actor> readers = actors("reader", 20);
        for (Actor reader : readers) {
            reader.run(read::lock);
        }
        assertThat(store.total()).isEqualTo(1);
        assertThat(holders("book")).isEqualTo(1);
        readers.forEach(reader -> reader.run(read::unlock));
        assertThat(store.total()).isEqualTo(2);
        assertThat(isUnused("book")).isTrue();
    }

    @Test
    void readersShareAcrossClientsAndExcludeWriters() {
        a.run(read::lock);
        b.run(theirRead::lock);
        assertThat(c.get(() -> write.tryLock())).isFalse();
        assertThat(c.get(() -> theirWrite.tryLock())).isFalse();
        a.run(read::unlock);
        assertThat(c.get(() -> write.tryLock())).isFalse();
        b.run(theirRead::unlock);
        assertThat(c.get(() -> write.tryLock())).isTrue();
        assertThat(a.get(() -> read.tryLock())).isFalse();
        assertThat(b.get(() -> theirRead.tryLock())).isFalse();
        c.run(write::unlock);
    }

    /** However many local readers overlap, readers can join a shared grant for a bounded time only. */
    @Test
    void overlappingReadersDoNotStarveAWriterOfAnotherClient() {
        a.run(read::lock);
        CompletableFuture<Void> writer = c.parkIn(theirWrite::lock);
        b.run(read::lock);
        a.run(read::unlock);
        handOffTimeIsOver();
        CompletableFuture<Void> late = a.parkIn(read::lock);
        assertThat(late).as("a reader that comes after the bound").isNotDone();
        b.run(read::unlock);
        Actor.end(writer);
        assertThat(late).isNotDone();
        c.run(theirWrite::unlock);
        Actor.end(late);
        a.run(read::unlock);
    }

    @Test
    void aReadGrantIsJoinedAtMost1023Times() {
        a.run(read::lock);
        CompletableFuture<Void> writer = c.parkIn(theirWrite::lock);
        b.run(() -> {
            for (int i = 0; i < 1_023; i++) {
                read.lock();
                read.unlock();
            }
        });
        CompletableFuture<Void> late = b.parkIn(read::lock);
        a.run(read::unlock);
        Actor.end(writer);
        assertThat(late).isNotDone();
        c.run(theirWrite::unlock);
        Actor.end(late);
        b.run(read::unlock);
    }

    @Test
    void localReadersThatComeAfterALocalWriterWaitBehindIt() {
        a.run(read::lock);
        CompletableFuture<Void> writer = b.parkIn(write::lock);
        CompletableFuture<Void> reader = c.parkIn(read::lock);
        a.run(read::unlock);
        Actor.end(writer);
        assertThat(reader).isNotDone();
        b.run(write::unlock);
        Actor.end(reader);
        c.run(read::unlock);
    }

    @Test
    void readersThatWaitTogetherAreLetInTogether() {
        c.run(theirWrite::lock);
        List<Actor> readers = actors("reader", 10);
        List<CompletableFuture<Void>> waiting = new ArrayList<>();
        for (Actor reader : readers) {
            waiting.add(reader.parkIn(read::lock));
        }
        c.run(theirWrite::unlock);
        waiting.forEach(Actor::end);
        assertThat(holders("book")).isEqualTo(1);
        readers.forEach(reader -> reader.run(read::unlock));
        awaitUnused("book");
    }

    @Test
    void aWriterThatGivesUpLetsTheReadersBehindItIn() {
        a.run(read::lock);
        CompletableFuture<Void> writer = b.parkIn(write::lockInterruptibly);
        CompletableFuture<Void> reader = c.parkIn(read::lock);
        b.interrupt();
        Actor.failure(InterruptedException.class, writer);
        Actor.end(reader);
        a.run(read::unlock);
        c.run(read::unlock);
        awaitUnused("book");
    }

    @Test
    void readersReenterAndWritersMayReadToo() {
        a.run(() -> {
            read.lock();
            read.lock();
            assertThat(read.holdCount()).isEqualTo(2);
            assertThat(write.holdCount()).isZero();
            assertThat(write.isHeldByCurrentThread()).isFalse();
            read.unlock();
            read.unlock();

            write.lock();
            assertThat(read.isHeldByCurrentThread()).isFalse();
            read.lock();
            assertThat(read.holdCount()).isEqualTo(1);
            assertThat(write.holdCount()).isEqualTo(1);
            read.unlock();
            write.unlock();
        });
        assertThat(isUnused("book")).isTrue();
    }

    @Test
    void aReentrantReaderIsNotStoppedByAWriterThatWaits() {
        a.run(read::lock);
        CompletableFuture<Void> writer = c.parkIn(theirWrite::lock);
        a.run(read::lock);
        a.run(read::unlock);
        a.run(read::unlock);
        Actor.end(writer);
        c.run(theirWrite::unlock);
    }

    @Test
    void aDowngradeKeepsTheTokenAndLetsReadersInButNoWriterInBetween() {
        a.run(write::lock);
        long token = a.get(write::token);
        Actor d = actor("D");
        CompletableFuture<Void> reader = c.parkIn(theirRead::lock);
        CompletableFuture<Void> writer = d.parkIn(theirWrite::lock);
        a.run(read::lock);
        store.reset();

        a.run(write::unlock);
        assertThat(store.total()).as("round trips of a downgrade").isEqualTo(1);
        assertThat(a.get(read::token)).isEqualTo(token);
        assertThat(a.get(write::isHeldByCurrentThread)).isFalse();
        assertThat(a.get(read::isHeldByCurrentThread)).isTrue();
        Actor.end(reader);
        assertThat(writer).isNotDone();

        c.run(theirRead::unlock);
        assertThat(writer).isNotDone();
        a.run(read::unlock);
        Actor.end(writer);
        d.run(theirWrite::unlock);
        awaitUnused("book");
    }

    @Test
    void aDowngradeLetsLocalReadersInToo() {
        a.run(write::lock);
        CompletableFuture<Void> reader = b.parkIn(read::lock);
        handOffTimeIsOver();
        a.run(read::lock);
        a.run(write::unlock);
        Actor.end(reader);
        b.run(read::unlock);
        a.run(read::unlock);
        awaitUnused("book");
    }

    /** Law 6: a shared token lies between those of the exclusive grants before and after it. */
    @Test
    void aReaderThatJoinsADowngradedGrantHasALargerTokenThanTheWriter() {
        a.run(write::lock);
        CompletableFuture<Void> handedOff = b.parkIn(write::lock);
        a.run(write::unlock);
        Actor.end(handedOff);
        long writer = b.get(write::token);
        b.run(read::lock);
        b.run(write::unlock);
        c.run(read::lock);
        assertThat(c.get(read::token)).isGreaterThan(writer);
        long reader = c.get(read::token);
        b.run(read::unlock);
        c.run(read::unlock);
        a.run(write::lock);
        assertThat(a.get(write::token)).isGreaterThan(reader);
        a.run(write::unlock);
    }

    @Test
    void aDowngradeWhoseReplyIsLostIsRepeated() {
        network.next(Verb.TRY_ACQUIRE, Fault.DROP_REQUEST, Fault.REFUSE, Fault.DROP_REPLY);
        a.run(write::lock);
        a.run(read::lock);
        a.run(write::unlock);
        CompletableFuture<Void> reader = c.parkIn(() -> theirRead.lock());
        clock.advanceUntil("the other client reads too", Duration.ofMillis(100), reader::isDone);
        c.run(theirRead::unlock);
        a.run(read::unlock);
        awaitUnused("book");
    }

    @Test
    void aDowngradeOfABrokenLockFindsThatItIsBroken() {
        Queue<LossReason> reasons = new ConcurrentLinkedQueue<>();
        DistributedReadWriteLock watched =
                locks.readWriteLock("book", LockOptions.defaults().withOnLost(reasons::add));
        a.run(watched.writeLock()::lock);
        a.run(watched.readLock()::lock);
        theirWrite.forceRelease();
        a.run(watched.writeLock()::unlock);
        assertThat(a.get(watched.readLock()::isHeldByCurrentThread)).isFalse();
        Wait.until("the loss is reported", () -> !reasons.isEmpty());
        LockLostException lost = Actor.failure(LockLostException.class, a.begin(watched.readLock()::unlock));
        assertThat(lost.reason()).isEqualTo(LossReason.BROKEN);
        assertThat(reasons).containsExactly(LossReason.BROKEN);
        awaitUnused("book");
    }

    /** The store has lost the write grant, and granted the smaller claim anew. */
    @Test
    void aDowngradeThatIsAnsweredWithAnotherGrantIsALoss() {
        ForwardingStore restored = new ForwardingStore(memory) {
            @Override
            public CompletionStage<Attempt> tryAcquire(Claim claim) {
                return super.tryAcquire(claim).thenApply(attempt -> {
                    Granted granted = (Granted) attempt;
                    return new Granted(granted.counter() + 1, granted.lease());
                });
            }
        };
        DistributedReadWriteLock mine = client(restored).readWriteLock("book");
        a.run(mine.writeLock()::lock);
        a.run(mine.readLock()::lock);
        a.run(mine.writeLock()::unlock);
        LockLostException lost = Actor.failure(LockLostException.class, a.begin(mine.readLock()::unlock));
        assertThat(lost.reason()).isEqualTo(LossReason.TAKEN);
        awaitUnused("book");
    }

    /**
     * The request to shrink the grant is slow, and the read lock is released before it arrives. It must not acquire
     * the lock again.
     */
    @Test
    void aReleaseThatOvertakesADowngradeLeavesNothing() {
        a.run(write::lock);
        a.run(read::lock);
        network.next(Verb.TRY_ACQUIRE, Fault.HANG);
        a.run(write::unlock);
        assertThat(network.hanging()).isEqualTo(1);
        a.run(read::unlock);
        network.letGo();
        awaitUnused("book");
    }

    @Test
    void anUpgradeIsRefusedAtOnceAndTheReadLockStaysHeld() {
        a.run(read::lock);
        store.reset();
        LockException refused = Actor.failure(LockException.class, a.begin(write::lock));
        assertThat(refused).hasMessageContainingAll("book", "read lock");
        Actor.failure(LockException.class, a.begin(write::lockInterruptibly));
        Actor.failure(LockException.class, a.start(() -> write.tryLock(1, TimeUnit.SECONDS)));
        assertThat(a.get(() -> write.tryLock())).isFalse();
        assertThat(a.get(() -> write.tryLock(0, TimeUnit.SECONDS))).isFalse();
        assertThat(store.total()).isZero();
        assertThat(a.get(read::isHeldByCurrentThread)).isTrue();
        a.run(read::unlock);
        awaitUnused("book");
    }

    @Test
    void afterADowngradeTheWriteLockIsNotHadBackWithoutReleasingTheReadLock() {
        a.run(write::lock);
        a.run(read::lock);
        a.run(write::unlock);
        Actor.failure(LockException.class, a.begin(write::lock));
        Actor.failure(IllegalMonitorStateException.class, a.begin(write::unlock));
        a.run(read::unlock);
        assertThat(a.get(() -> write.tryLock())).isTrue();
        a.run(write::unlock);
    }

    @Test
    void unlockOfTheOtherHalfIsRefused() {
        a.run(read::lock);
        Actor.failure(IllegalMonitorStateException.class, a.begin(write::unlock));
        a.run(read::unlock);
        a.run(write::lock);
        Actor.failure(IllegalMonitorStateException.class, a.begin(read::unlock));
        a.run(write::unlock);
        awaitUnused("book");
    }

    @Test
    void readLeasesShareAndAnyThreadReleasesThem() throws InterruptedException {
        Lease first = a.get(() -> read.acquire());
        Lease second = b.get(() -> read.acquire());
        assertThat(write.tryAcquire()).isEmpty();
        first.release();
        assertThat(second.isValid()).isTrue();
        assertThat(holders("book")).isEqualTo(1);
        c.run(second::release);
        Lease writing = write.acquire();
        assertThat(writing.token()).isGreaterThan(second.token());
        writing.release();
    }

    @Test
    void anEndOfTheSharedGrantEndsTheHoldsOfAllItsReaders() {
        a.run(read::lock);
        b.run(read::lock);
        assertThat(theirWrite.forceRelease()).isEqualTo(1);
        pass(Duration.ofSeconds(10));
        assertThat(a.get(read::isHeldByCurrentThread)).isFalse();
        assertThat(b.get(read::isHeldByCurrentThread)).isFalse();
        for (Actor reader : List.of(a, b)) {
            assertThatExceptionOfType(AssertionError.class)
                    .isThrownBy(() -> reader.run(read::unlock))
                    .havingCause()
                    .isInstanceOf(LockException.class)
                    .withMessageContaining("BROKEN");
        }
    }

    /** A grant that only dead threads hold is renewed no more, so that nobody may join it. */
    @Test
    void aReaderDoesNotJoinTheGrantOfADeadReader() throws InterruptedException {
        Holdfast longHandOff = client(Holdfast.builder().store(memory).handOffTime(Duration.ofMinutes(1)));
        DistributedLock shared = longHandOff.readWriteLock("book").readLock();
        Thread dying = new Thread(shared::lock);
        dying.start();
        dying.join();
        clock.advanceAndSettle(EngineFixture.LEASE.dividedBy(3));
        a.run(shared::lock);
        pass(EngineFixture.LEASE.multipliedBy(2));
        assertThat(a.get(shared::isHeldByCurrentThread)).isTrue();
        a.run(shared::unlock);
        awaitUnused("book");
    }
}
