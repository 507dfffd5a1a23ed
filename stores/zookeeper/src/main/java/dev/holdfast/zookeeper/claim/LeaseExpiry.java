package dev.holdfast.zookeeper.claim;

import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.zookeeper.session.Sessions;
import dev.holdfast.zookeeper.session.Timer;
import java.time.Duration;

/**
 * Ends the grants of this client when their leases expire. The server ends only whole sessions, so the client
 * itself must end a lease that is shorter than the session, or that its owner has stopped renewing. Thread-safe.
 */
public final class LeaseExpiry {

    private final ClaimTable claims;
    private final Sessions sessions;
    private final OrphanCleaner orphans;
    private final MonotonicClock clock;
    private final Timer timer;
    private final PendingChecks pending = new PendingChecks();

    public LeaseExpiry(ClaimTable claims, Sessions sessions, OrphanCleaner orphans, MonotonicClock clock, Timer timer) {
        this.claims = claims;
        this.sessions = sessions;
        this.orphans = orphans;
        this.clock = clock;
        this.timer = timer;
    }

    /** Schedules a check of the claim, no later than the end of its lease. */
    public void track(ClaimState claimState) {
        checkBy(claimState.expires());
    }

    // An earlier check is usually scheduled already, so a lock that is held only briefly costs no timer task.
    private void checkBy(long at) {
        if (pending.add(at)) {
            timer.after(Duration.ofNanos(Math.max(0, at - clock.nanoTime())), () -> check(at));
        }
    }

    private void check(long scheduledFor) {
        pending.begun(scheduledFor);
        long now = clock.nanoTime();
        for (ClaimState claimState : claims.all()) {
            if (claimState.state() == ClaimState.State.HELD) {
                long expires = claimState.expires();
                if (expires - now <= 0) {
                    end(claimState);
                } else {
                    checkBy(expires);
                }
            }
        }
    }

    /** Ends all claims that wait or were sent, without notifying their listeners. Those that hold end with their leases. */
    public void endWaiting() {
        for (ClaimState claimState : claims.all()) {
            if (claimState.state() != ClaimState.State.HELD || claimState.isReleasing()) {
                end(claimState);
            }
        }
    }

    private void end(ClaimState claimState) {
        String path = claimState.path();
        if (!claims.remove(claimState)) {
            return;
        }
        if (path == null || claimState.claim().repeated()) {
            // A request that makes or replaces its node may have worked, or may still do so, without a reply.
            orphans.expectLateNode(claimState.id(), claimState.parent());
        }
        if (path == null) {
            return;
        }
        try {
            orphans.remove(sessions.inBackground(), path);
        } catch (StoreException notConnected) {
            orphans.removeLater(path);
        }
    }
}
