package dev.holdfast.shedlock;

import java.util.Optional;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;

/**
 * Takes our lock, and then that of a provider of ShedLock's, which other nodes have alone.
 *
 * <p>In this order, because ours can be given back as if it had not been taken. ShedLock's own unlock keeps the lock until
 * {@code lockAtLeastFor}, and a job that did not run would be skipped for so long.
 */
final class ChangeOverLockProvider implements ExtensibleLockProvider {

    private final HoldfastLockProvider ours;
    private final ExtensibleLockProvider theirs;

    ChangeOverLockProvider(HoldfastLockProvider ours, ExtensibleLockProvider theirs) {
        this.ours = ours;
        this.theirs = theirs;
    }

    @Override
    public Optional<SimpleLock> lock(LockConfiguration configuration) {
        Optional<OwnJobLock> taken = ours.take(configuration);
        if (taken.isEmpty()) {
            return Optional.empty();
        }
        OwnJobLock own = taken.get();
        Optional<SimpleLock> other = Optional.empty();
        try {
            other = theirs.lock(configuration);
        } finally {
            if (other.isEmpty()) {
                own.release();
            }
        }
        return other.map(held -> new ChangeOverLock(configuration, own, held));
    }
}
