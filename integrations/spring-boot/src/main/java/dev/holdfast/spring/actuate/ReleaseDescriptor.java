package dev.holdfast.spring.actuate;

import java.util.List;
import org.springframework.boot.actuate.endpoint.OperationResponseBody;

/**
 * What was taken away from whom.
 *
 * @param name the lock
 * @param released those who held it until now. They are notified of the loss, but may work on for a moment
 */
public record ReleaseDescriptor(String name, List<ClaimDescriptor> released) implements OperationResponseBody {}
