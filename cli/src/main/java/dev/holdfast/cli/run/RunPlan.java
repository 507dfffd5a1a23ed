package dev.holdfast.cli.run;

import dev.holdfast.LockOptions;
import dev.holdfast.cli.option.StoreChoice;
import dev.holdfast.cli.process.OnLost;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What {@code holdfast run} was asked to do, checked.
 *
 * @param store where the lock is
 * @param request which lock
 * @param options its lease
 * @param maxWait null to wait for ever, zero not to wait
 * @param onLost what happens to the command when the lock is about to be lost
 * @param grace how long before the deadline it gets SIGTERM
 * @param margin how long before the deadline it is killed
 * @param busyCode the exit code for busy and timed out
 * @param verbose whether to print each step
 * @param command the program and its arguments
 */
record RunPlan(
        StoreChoice store,
        LockRequest request,
        LockOptions options,
        @Nullable Duration maxWait,
        OnLost onLost,
        Duration grace,
        Duration margin,
        int busyCode,
        boolean verbose,
        List<String> command) {}
