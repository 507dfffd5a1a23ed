package dev.holdfast.spring.locked;

import dev.holdfast.LockOptions;
import dev.holdfast.spring.Locked;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.Arrays;
import java.util.stream.Collectors;
import org.springframework.util.ClassUtils;

/**
 * How one method is locked: what its {@link Locked} says, read and checked.
 *
 * @param method the method of the bean's class
 * @param names its names, as templates
 * @param kind the kind of the lock, unless it is a semaphore
 * @param permits how many permits a call takes, if it is a semaphore
 * @param of how many permits the semaphore has; 0 if it is none
 * @param maxWait how long to wait
 * @param skips whether a call does nothing if the lock is busy
 * @param lockAtLeast how long the lock stays taken; zero for no longer than the method runs
 * @param options of the lock
 * @param result when the method is over
 * @param leaseParameter which parameter gets the lease; -1 if none does
 */
record LockedMethod(
        Method method,
        LockNames names,
        LockKind kind,
        int permits,
        int of,
        Duration maxWait,
        boolean skips,
        Duration lockAtLeast,
        LockOptions options,
        ResultKind result,
        int leaseParameter) {

    boolean isSemaphore() {
        return of > 0;
    }

    /** Whether the lock is held as a lease, which belongs to no thread; else the calling thread holds it, and may re-enter. */
    boolean needsLease() {
        return isSemaphore() || leaseParameter >= 0 || result.isAsynchronous() || !lockAtLeast.isZero();
    }

    boolean wantsLease() {
        return leaseParameter >= 0;
    }

    boolean declaresInterrupts() {
        return Arrays.stream(method.getExceptionTypes())
                .anyMatch(type -> type.isAssignableFrom(InterruptedException.class));
    }

    /** {@code Shop.pay(long)}, for messages. */
    static String described(Method method) {
        String parameters = Arrays.stream(method.getParameterTypes())
                .map(Class::getSimpleName)
                .collect(Collectors.joining(", "));
        return ClassUtils.getShortName(method.getDeclaringClass()) + "." + method.getName() + "(" + parameters + ")";
    }

    @Override
    public String toString() {
        return described(method);
    }
}
