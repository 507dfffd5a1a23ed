package dev.holdfast.cli.run;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.spi.LockName;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Which lock, or permits, the command needs.
 *
 * @param names one or more names; several are mutexes that are taken together
 * @param kind what kind of lock
 * @param permits how many permits of a semaphore
 * @param limit how many permits the semaphore has
 */
record LockRequest(List<String> names, Kind kind, int permits, int limit) {

    /** The kinds that the tool can take. */
    enum Kind {
        MUTEX,
        READ,
        WRITE,
        SEMAPHORE
    }

    /** @throws IllegalArgumentException if a name is wrong or given twice */
    LockRequest {
        names = List.copyOf(names);
        Set<String> seen = new HashSet<>();
        for (String name : names) {
            if (!seen.add(new LockName(name).value())) {
                throw new IllegalArgumentException("\"" + name + "\" is named twice: name each lock once");
            }
        }
    }

    /** The names in quotation marks, for messages. */
    String title() {
        return names.size() == 1 ? "\"" + names.get(0) + "\"" : "\"" + String.join("\", \"", names) + "\"";
    }

    /**
     * Waits for the lock.
     *
     * @param maxWait null to wait for ever; zero not to wait
     */
    Lease acquire(Holdfast locks, LockOptions options, @Nullable Duration maxWait) throws InterruptedException {
        if (kind == Kind.SEMAPHORE) {
            var semaphore = locks.semaphore(names.get(0), limit, options);
            return maxWait == null ? semaphore.acquire(permits) : semaphore.acquire(permits, maxWait);
        }
        DistributedLock lock = lock(locks, options);
        return maxWait == null ? lock.acquire() : lock.acquire(maxWait);
    }

    private DistributedLock lock(Holdfast locks, LockOptions options) {
        if (names.size() > 1) {
            return locks.multiLock(names, options);
        }
        String name = names.get(0);
        return switch (kind) {
            case READ -> locks.readWriteLock(name, options).readLock();
            case WRITE -> locks.readWriteLock(name, options).writeLock();
            default -> locks.lock(name, options);
        };
    }
}
