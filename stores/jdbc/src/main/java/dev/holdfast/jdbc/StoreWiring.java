package dev.holdfast.jdbc;

import dev.holdfast.jdbc.waiting.PollSchedule;
import dev.holdfast.jdbc.waiting.WaiterNotifier;
import java.time.Duration;

/**
 * How a store in a database uses its threads and connections.
 *
 * @param callerMayWork whether an interrupt of a calling thread does not harm the driver
 * @param ownPolls whether polls have a connection of their own; else they share that of the work
 * @param statementTimeout how long the last statement of a call may take beyond the time in which it may begin
 * @param pace how often is polled
 * @param wakeup how waiters of other processes are told of their grant without a poll
 */
record StoreWiring(
        boolean callerMayWork, boolean ownPolls, Duration statementTimeout, PollSchedule pace, WaiterNotifier wakeup) {}
