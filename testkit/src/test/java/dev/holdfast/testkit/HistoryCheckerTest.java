package dev.holdfast.testkit;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.testkit.HistoryChecker.Hold;
import org.junit.jupiter.api.Test;

/** The checker finds violations that were put into a history, and finds none in a correct history. */
class HistoryCheckerTest {

    private static final long NEVER = HistoryChecker.NEVER_QUEUED;

    @Test
    void lawfulHistoryPasses() {
        HistoryChecker mutex = new HistoryChecker(1);
        mutex.add(new Hold("a", 1, 1, 0, NEVER, 10, 20));
        mutex.add(new Hold("b", 1, 2, 1, 5, 20, 30));
        mutex.add(new Hold("c", 1, 3, 6, 8, 31, 40));
        assertThatCode(mutex::checkFifo).doesNotThrowAnyException();
    }

    @Test
    void sharedGrantsMayBeReportedInAnyOrder() {
        HistoryChecker semaphore = new HistoryChecker(3);
        semaphore.add(new Hold("a", 1, 2, 0, NEVER, 10, 30));
        semaphore.add(new Hold("b", 2, 1, 0, NEVER, 11, 30));
        semaphore.add(new Hold("all", 3, 3, 0, 5, 30, 40));
        assertThatCode(semaphore::checkFifo).doesNotThrowAnyException();
    }

    @Test
    void overlapIsFound() {
        HistoryChecker mutex = new HistoryChecker(1);
        mutex.add(new Hold("a", 1, 1, 0, NEVER, 10, 20));
        mutex.add(new Hold("b", 1, 2, 0, NEVER, 19, 30));
        broken(mutex, "2 permits of 1");
    }

    @Test
    void sumAboveTheLimitIsFound() {
        HistoryChecker semaphore = new HistoryChecker(5);
        semaphore.add(new Hold("a", 2, 1, 0, NEVER, 0, 100));
        semaphore.add(new Hold("b", 2, 2, 0, NEVER, 10, 20));
        semaphore.add(new Hold("c", 2, 3, 0, NEVER, 20, 30));
        assertThatCode(semaphore::check).doesNotThrowAnyException();
        semaphore.add(new Hold("d", 2, 4, 0, NEVER, 15, 16));
        broken(semaphore, "6 permits of 5");
    }

    @Test
    void tokenGoingBackIsFound() {
        HistoryChecker mutex = new HistoryChecker(1);
        mutex.add(new Hold("a", 1, 5, 0, NEVER, 0, 10));
        mutex.add(new Hold("b", 1, 4, 0, NEVER, 10, 20));
        broken(mutex, "no larger token");
    }

    @Test
    void tokenUsedTwiceIsFound() {
        HistoryChecker mutex = new HistoryChecker(1);
        mutex.add(new Hold("a", 1, 5, 0, NEVER, 0, 10));
        mutex.add(new Hold("b", 1, 5, 0, NEVER, 10, 20));
        broken(mutex, "no larger token");
    }

    @Test
    void sharedTokenBelowAnEarlierExclusiveOneIsFound() {
        HistoryChecker readWrite = new HistoryChecker(10);
        readWrite.add(new Hold("writer", 10, 5, 0, NEVER, 0, 10));
        readWrite.add(new Hold("reader", 1, 5, 0, NEVER, 10, 20));
        broken(readWrite, "no larger token");
    }

    @Test
    void exclusiveTokenBelowAnEarlierSharedOneIsFound() {
        HistoryChecker readWrite = new HistoryChecker(10);
        readWrite.add(new Hold("reader", 1, 7, 0, NEVER, 0, 10));
        readWrite.add(new Hold("other reader", 1, 5, 0, NEVER, 0, 10));
        readWrite.add(new Hold("writer", 10, 6, 0, NEVER, 10, 20));
        broken(readWrite, "no larger token");
    }

    @Test
    void overtakingIsFound() {
        HistoryChecker mutex = new HistoryChecker(1);
        mutex.add(new Hold("waits first", 1, 3, 0, 5, 30, 40));
        mutex.add(new Hold("asks later", 1, 2, 6, 8, 10, 20));
        assertThatCode(mutex::check).doesNotThrowAnyException();
        assertThatThrownBy(mutex::checkFifo).hasMessageContaining("overtaken").hasMessageContaining("waits first");
    }

    @Test
    void overlappingRequestsHaveNoOrder() {
        HistoryChecker mutex = new HistoryChecker(1);
        mutex.add(new Hold("a", 1, 3, 0, 5, 30, 40));
        mutex.add(new Hold("b", 1, 2, 4, 8, 10, 20));
        assertThatCode(mutex::checkFifo).doesNotThrowAnyException();
    }

    @Test
    void holdThatWasOverWhenItsOwnerLearnedOfItOverlapsNoOther() {
        HistoryChecker mutex = new HistoryChecker(1);
        mutex.add(new Hold("frozen", 1, 4, 0, NEVER, 15, 15));
        mutex.add(new Hold("next", 1, 5, 1, NEVER, 10, 20));
        assertThatCode(mutex::check).doesNotThrowAnyException();
        assertThatCode(mutex::checkTokensInTime).doesNotThrowAnyException();
    }

    @Test
    void tokenThatIsNotLargerThanOneThatWasKnownIsFoundWhereTwoMayHold() {
        HistoryChecker forgetful = new HistoryChecker(1);
        forgetful.add(new Hold("a", 1, 5, 0, NEVER, 10, 40));
        forgetful.add(new Hold("b", 1, 6, 11, NEVER, 20, 30));
        assertThatCode(forgetful::checkTokensInTime).doesNotThrowAnyException();
        broken(forgetful, "2 permits of 1");
        forgetful.add(new Hold("c", 1, 6, 21, NEVER, 35, 35));
        assertThatThrownBy(forgetful::checkTokensInTime).hasMessageContaining("no larger token");
    }

    @Test
    void changedTokenOnRenewalIsFound() {
        HistoryChecker mutex = new HistoryChecker(1);
        HistoryChecker.OpenHold hold = mutex.acquired("a", 1, 5, System.nanoTime(), NEVER);
        hold.renewed(5);
        assertThatCode(mutex::check).doesNotThrowAnyException();
        hold.renewed(6);
        hold.ending();
        broken(mutex, "changed");
    }

    private static void broken(HistoryChecker history, String why) {
        assertThatThrownBy(history::check).isInstanceOf(AssertionError.class).hasMessageContaining(why);
    }
}
