package dev.holdfast.engine.simulation;

import dev.holdfast.DistributedLock;
import dev.holdfast.LockException;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.ResourceState;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.stream.Collectors;

/**
 * A condition for which threads of a process wait. A signal goes to one that waits; one that has been signalled says so when it comes
 * back, and one that cannot come back has passed the signal on.
 */
final class SimulatedCondition {

    /** With a lock's name before it, the wait set of a condition that all processes share. */
    static final String WAIT_SET = "#changed";

    private final World world;
    private final SharedName name;
    private final boolean isLocal;
    private final Condition condition;
    private final List<SimulatedThread> inside = new ArrayList<>();

    SimulatedCondition(World world, SharedName name, DistributedLock lock, boolean isLocal) {
        this.world = world;
        this.name = name;
        this.isLocal = isLocal;
        this.condition = isLocal ? lock.newCondition() : lock.condition(WAIT_SET.substring(1));
    }

    /**
     * Waits, for a limited time or for ever.
     *
     * @param millis negative for no limit
     */
    void await(SimulatedThread self, long millis) throws InterruptedException {
        List<SimulatedThread> asleep = new ArrayList<>();
        self.entersWaitSet(() -> {
            asleep.clear();
            asleep.addAll(inside.stream().filter(SimulatedThread::isAsleep).toList());
        });
        inside.add(self);
        try {
            boolean inTime = true;
            if (millis >= 0) {
                inTime = condition.await(millis, TimeUnit.MILLISECONDS);
            } else if (world.chance().once(2) || isLocal) {
                condition.await();
            } else {
                condition.awaitUninterruptibly();
            }
            world.note(self, inTime ? "was woken" : "has waited long enough");
            requireSame(self, inTime);
        } catch (InterruptedException interrupted) {
            requireSame(self, false);
            throw interrupted;
        } catch (LockException notTakenBack) {
            requirePassedOn(self, asleep);
            throw notTakenBack;
        } finally {
            self.leavesWaitSet();
            inside.remove(self);
        }
    }

    private void requireSame(SimulatedThread self, boolean woken) {
        if (isLocal && self.place() != null && self.place().isWoken() != woken) {
            throw new AssertionError(self + (woken ? " has waited in time, but" : " was woken in vain, since")
                    + " a signal has " + (woken ? "not" : "") + " come");
        }
    }

    // One that slept when the thread went on for the last time is awake now, if there was one; or one that has its
    // place
    // already, and has not come to sleep.
    private void requirePassedOn(SimulatedThread self, List<SimulatedThread> asleep) {
        if (isLocal
                && self.place() != null
                && self.place().isWoken()
                && !asleep.isEmpty()
                && asleep.stream().allMatch(SimulatedThread::isAsleep)
                && !someEnter()) {
            throw new AssertionError(self + " was woken and could not take the lock, but " + asleep + " still sleep");
        }
    }

    private boolean someEnter() {
        return inside.stream().anyMatch(thread -> thread.place() == null);
    }

    /** Signals one, or all; the calling thread holds the lock. */
    void signal(boolean all) {
        if (isLocal) {
            signalHere(all);
        } else {
            signalInStore(all);
        }
    }

    private void signalHere(boolean all) {
        List<SimulatedThread> asleep = asleep();
        boolean someEnter = someEnter();
        if (all) {
            condition.signalAll();
        } else {
            condition.signal();
        }
        long woken = asleep.size() - asleep().size();
        long due = all ? asleep.size() : Math.min(1, asleep.size());
        if (woken > due || (woken < due && !someEnter)) {
            throw new AssertionError("A signal has woken " + woken + " of " + asleep + ", not " + due);
        }
    }

    private List<SimulatedThread> asleep() {
        return inside.stream().filter(SimulatedThread::isAsleep).toList();
    }

    private void signalInStore(boolean all) {
        Set<String> before = waiting();
        if (all) {
            condition.signalAll();
        } else {
            condition.signal();
        }
        Set<String> after = waiting();
        boolean isLost =
                all ? before.stream().anyMatch(after::contains) : !before.isEmpty() && after.containsAll(before);
        if (isLost) {
            throw new AssertionError(
                    "A signal to " + name + WAIT_SET + " was lost: all of " + before.size() + " still wait");
        }
    }

    // One whose entry had no answer enters again, also if a signal has ended its first entry; then it is another one
    // here.
    private Set<String> waiting() {
        return world.store().inspect(new LockName(name + WAIT_SET)).toCompletableFuture().join().stream()
                .flatMap(state -> state.waiters().stream())
                .map(ResourceState.Entry::claim)
                .map(claim -> claim.id() + (claim.repeated() ? " again" : ""))
                .collect(Collectors.toSet());
    }
}
