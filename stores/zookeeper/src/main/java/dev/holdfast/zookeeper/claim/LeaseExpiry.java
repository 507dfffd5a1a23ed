package dev.holdfast.zookeeper.claim;

import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.zookeeper.session.Sessions;
import dev.holdfast.zookeeper.session.Timer;
import java.time.Duration;

/**
 * Ends what this client holds when its lease is over. The server ends only whole sessions, so a lease that is shorter, or
 * whose owner has stopped to renew it, is kept here. Thread-safe.
 */
public final class LeaseExpiry {

    private final ClaimTable places;
    private final Sessions sessions;
    private final OrphanCleaner leftovers;
    private final MonotonicClock clock;
    private final Timer timer;
    private boolean scheduled;
    private long nextAt;

    public LeaseExpiry(
            ClaimTable places, Sessions sessions, OrphanCleaner leftovers, MonotonicClock clock, Timer timer) {
        this.places = places;
        this.sessions = sessions;
        this.leftovers = leftovers;
        this.clock = clock;
        this.timer = timer;
    }

    /** Looks at a place no later than when its lease ends. */
    public void watch(ClaimState place) {
        wakeBy(place.expires());
    }

    // Mostly there is a look before, whatever came in between: a lock that is held shortly costs no timer.
    private synchronized void wakeBy(long at) {
        if (scheduled && nextAt - at <= 0) {
            return;
        }
        scheduled = true;
        nextAt = at;
        timer.after(Duration.ofNanos(Math.max(0, at - clock.nanoTime())), () -> look(at));
    }

    private void look(long wokenFor) {
        synchronized (this) {
            if (!scheduled || nextAt != wokenFor) {
                return; // a sooner look was asked for since, and will ask for the next
            }
            scheduled = false;
        }
        long now = clock.nanoTime();
        for (ClaimState place : places.all()) {
            if (place.state() == ClaimState.State.HELD) {
                long expires = place.expires();
                if (expires - now <= 0) {
                    end(place);
                } else {
                    wakeBy(expires);
                }
            }
        }
    }

    private void end(ClaimState place) {
        String path = place.path();
        if (!places.remove(place) || path == null) {
            return;
        }
        try {
            leftovers.remove(sessions.current(), path);
        } catch (StoreException notConnected) {
            leftovers.removeLater(path);
        }
    }
}
