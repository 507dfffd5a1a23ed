package dev.holdfast.testkit;

import dev.holdfast.testkit.law.ThreadSafety;
import dev.holdfast.testkit.model.ModelTime;
import dev.holdfast.testkit.model.StoreModelRun;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The tests that every store passes: a group for each of the twelve laws, the views, many threads at once, and a long random
 * run beside the model. What is asserted follows from the store's {@link dev.holdfast.spi.StoreTraits traits}; no test can
 * be overridden or switched off otherwise.
 *
 * <p>A store's own test says how to open it, and no more:
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
 * <p>A store whose data live in the object overrides {@link #openAnother}: there is no other handle.
 *
 * <p>A store whose leases end by a clock that cannot be injected overrides {@link #runsOnRealTime()}; its tests then really
 * wait, for little more than its ticket's time to live each. Such a store should be opened with a short one: 1 to 2 seconds.
 *
 * <p>Random tests print their seed once for each JVM; {@code -Dholdfast.seed=NUMBER} repeats them. The length of the
 * run beside the model is {@code -Dholdfast.model.operations=NUMBER}, 10,000 by default.
 */
public abstract class LockStoreTck extends ThreadSafety {

    /**
     * How many operations the run beside the model has, unless the system property says so. A second client or topology of a
     * store that has its long run elsewhere may ask for fewer.
     */
    protected int modelOperations() {
        return 10_000;
    }

    @Test
    @Timeout(900)
    public final void behavesLikeTheModel() {
        int operations = Integer.getInteger(StoreModelRun.OPERATIONS, modelOperations());
        long seed = Long.getLong(StoreModelRun.SEED, Seeds.of("model"));
        ModelTime time = runsOnRealTime() ? ModelTime.real() : ModelTime.held(heldClock());
        System.out.println(new StoreModelRun(store(), time, prefix(), operations, seed).run());
    }
}
