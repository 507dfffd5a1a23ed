package dev.holdfast.jdbc;

import dev.holdfast.jdbc.waiting.WaiterNotifier;
import java.time.Duration;

/**
 * How a store in a database uses its threads and connections.
 *
 * @param callerMayWork whether calls may run on the caller's thread, because an interrupt does not harm the driver
 * @param lanes how many connections there are for work, each for a part of the names
 * @param ownPolls whether polls have a connection of their own; otherwise they share that of the work
 * @param statementTimeout how long the last statement of a call may take beyond the time in which it may begin
 * @param notifier how waiters of other processes are notified of their grant without a poll
 */
record StoreWiring(
        boolean callerMayWork, int lanes, boolean ownPolls, Duration statementTimeout, WaiterNotifier notifier) {}
