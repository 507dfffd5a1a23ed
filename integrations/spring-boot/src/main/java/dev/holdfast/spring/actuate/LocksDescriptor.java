package dev.holdfast.spring.actuate;

import java.util.List;
import org.springframework.boot.actuate.endpoint.OperationResponseBody;

/**
 * Several locks, as the store knew them when it was asked, one after the other.
 *
 * @param locks those that somebody holds or waits for, in the order of their names
 * @param complete whether there are no more names than were looked at
 */
public record LocksDescriptor(List<LockDescriptor> locks, boolean complete) implements OperationResponseBody {}
