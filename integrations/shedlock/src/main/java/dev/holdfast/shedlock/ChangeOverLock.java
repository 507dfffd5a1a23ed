package dev.holdfast.shedlock;

import java.util.Optional;
import net.javacrumbs.shedlock.core.AbstractSimpleLock;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;

/** The lock of a job that runs under our lock and under one of ShedLock's own. It is used once, like each of the two. */
final class ChangeOverLock extends AbstractSimpleLock {

    private final OwnJobLock ours;
    private final SimpleLock theirs;

    ChangeOverLock(LockConfiguration configuration, OwnJobLock ours, SimpleLock theirs) {
        super(configuration);
        this.ours = ours;
        this.theirs = theirs;
    }

    // Ours is given back also if theirs cannot be, which then ends by itself.
    @Override
    protected void doUnlock() {
        try {
            unlockTheirs();
        } finally {
            ours.unlock();
        }
    }

    // When lockAtMostFor is over, another process of this host may have the lock of theirs, which would be taken for
    // this one's.
    private void unlockTheirs() {
        if (!ours.isOver()) {
            theirs.unlock();
        }
    }

    // If one of the two cannot be asked, both stay as they are: the job may still run, and they end by themselves.
    @Override
    protected Optional<SimpleLock> doExtend(LockConfiguration wanted) {
        if (!ours.isHeld()) {
            unlockTheirs();
            ours.release();
            return Optional.empty();
        }
        Optional<SimpleLock> other = theirs.extend(wanted.getLockAtMostFor(), wanted.getLockAtLeastFor());
        if (other.isEmpty()) {
            ours.release();
            return Optional.empty();
        }
        SimpleLock extended = other.get();
        Optional<OwnJobLock> own = ours.extended(wanted);
        if (own.isEmpty()) {
            extended.unlock();
        }
        return own.map(held -> new ChangeOverLock(wanted, held, extended));
    }
}
