package dev.holdfast.testkit;

import dev.holdfast.spi.LockStore;
import dev.holdfast.testkit.law.ThreadSafety;
import dev.holdfast.testkit.model.ModelTime;
import dev.holdfast.testkit.model.StoreModelRun;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The tests that every store must pass: a group for each of the twelve laws, the inspection, many threads at once,
 * and a long random run that compares the store with the model. The store's {@link dev.holdfast.spi.StoreTraits
 * traits} determine what is asserted; no test can be overridden or switched off in another way.
 *
 * <p>A store's own test defines only how to open the store:
 *
 * <pre>{@code
 * class SqliteLockStoreTest extends LockStoreTck {
 *
 *     @TempDir
 *     Path folder;
 *
 *     @Override
 *     protected LockStore open(MonotonicClock clock) {
 *         return new SqliteLockStoreProvider().open("sqlite:" + folder.resolve("locks.db"), clock);
 *     }
 * }
 * }</pre>
 *
 * <p>A store that keeps its data in the object overrides {@link #openAnother}, because there is no other handle.
 *
 * <p>A store whose leases end by a clock that cannot be injected overrides {@link #runsOnRealTime()}. Its tests
 * then wait in real time. Those that wait for the end of tickets do so for little more than their time to live, so
 * {@link #openWithBriefTickets} should open it with a short one: 1 to 2 seconds.
 *
 * <p>Random tests print their seed once for each JVM; {@code -Dholdfast.seed=NUMBER} repeats them. The length of
 * the model run is {@code -Dholdfast.model.operations=NUMBER}, 5,000 by default.
 */
public abstract class LockStoreTck extends ThreadSafety {

    /** The time to live of tickets that are not to end during a test. */
    static final Duration OUTLASTING = Duration.ofMinutes(1);

    /**
     * The number of operations of the model run, unless the system property sets it. A second client or topology of
     * a store that has its long run in another test may return a smaller number.
     */
    protected int modelOperations() {
        return 5_000;
    }

    /**
     * Whether things end by time in the model run. In real time the run then depends on the speed of the machine, and takes long.
     * The test of a store whose statements run on a clock that can be held in another test may leave that to the other one: then
     * leases and tickets outlast this run.
     */
    protected boolean modelRunMeetsExpiry() {
        return true;
    }

    /**
     * Opens the store under test for the model run, with tickets of at least this time to live. The run asks for longer ones if
     * the machine is slow. By default, and if a store has no such option, it is the store of all other tests.
     */
    protected LockStore openWithTickets(Duration timeToLive) {
        return store();
    }

    @Test
    @Timeout(900)
    public final void behavesLikeTheModel() {
        letTicketsEnd();
        int operations = Integer.getInteger(StoreModelRun.OPERATIONS, modelOperations());
        long seed = Long.getLong(StoreModelRun.SEED, Seeds.of("model"));
        ModelTime time = runsOnRealTime() ? ModelTime.real() : ModelTime.held(heldClock());
        System.out.println(
                StoreModelRun.run(this::openForTheModelRun, time, modelRunMeetsExpiry(), prefix(), operations, seed));
    }

    private LockStore openForTheModelRun(int slowness) {
        LockStore opened = openWithTickets(
                modelRunMeetsExpiry() ? store().traits().ticketTtl().multipliedBy(slowness) : OUTLASTING);
        if (opened != store()) {
            closeLater(opened);
        }
        return opened;
    }
}
