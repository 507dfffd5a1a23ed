package dev.holdfast.internal.hold;

import dev.holdfast.internal.Engine;
import java.util.function.Supplier;

/** The lock of one name in this JVM, as its grants see it. Its mutex guards them, too. */
public interface GrantHome {

    Engine engine();

    /** Runs a change of state under the mutex, and after it what was given to {@link #afterwards}. */
    void change(Runnable change);

    /** Reads or changes state under the mutex, like {@link #change}. */
    <T> T locked(Supplier<T> change);

    /** Under the mutex: runs code that calls users after the mutex was let go. */
    void afterwards(Runnable event);

    /** Under the mutex: passes a grant that nobody holds any more to the next local waiter. Returns false if it may not. */
    boolean passOn(Grant grant);

    /** Under the mutex: whether the grant is on its way from one local holder to the next. */
    boolean isIdle(Grant grant);

    /** Under the mutex: the grant is over. */
    void forget(Grant grant);

    /** Under the mutex: forgets what threads held that have died. */
    void forgetDeadThreads();

    /** Under the mutex: the next local waiter may ask the store now. */
    void wakeNext();

    /** Without the mutex: a release was sent, so that whoever waits here may ask the store now. */
    void released();
}
