package dev.holdfast.zookeeper.session;

import dev.holdfast.spi.StoreException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.ZooKeeper.States;
import org.jspecify.annotations.Nullable;

/**
 * The sessions of the client, one after the other: Curator connects, and makes a new session when one has expired.
 *
 * <h2>How long a session surely lives</h2>
 *
 * A session lives for its time-out from when the <em>leader</em> last heard that the client is there. Only a client that is
 * connected to the leader tells it with each request. A follower answers the client, and lets the leader know each half tick
 * which clients it has heard from; a request that it forwards does not count. If the follower is cut off right after it
 * brought an answer, the leader may know only of the client's last ping before, which is up to a third of the time-out
 * older, plus half a tick. With time-outs of two ticks and more, which servers insist on, two fifths of the time-out are
 * then surely left; that is what a grant is told to live for.
 */
public final class Sessions implements AutoCloseable {

    private static final int SURE_PARTS = 2;
    private static final int PARTS = 5;

    /** While a connection is waited for, it is looked so often whether the login was refused. */
    private static final int LOOKS = 100;

    private final CuratorFramework client;
    private final boolean owned;
    private final int timeoutMillis;
    private volatile boolean closed;
    private volatile @Nullable SessionClient last;

    /**
     * @param client a client that was started
     * @param owned whether it is this store's to close
     */
    public Sessions(CuratorFramework client, boolean owned, Duration patience) {
        this.client = client;
        this.owned = owned;
        this.timeoutMillis = connected(client, patience);
    }

    private static int connected(CuratorFramework client, Duration patience) {
        boolean interrupted = Thread.interrupted();
        try {
            int looks = 0;
            while (!client.blockUntilConnected(Math.toIntExact(patience.toNanos() / LOOKS), TimeUnit.NANOSECONDS)) {
                if (isLoginRefused(client)) {
                    throw ZooKeeperErrors.loginRefused();
                }
                looks++;
                if (looks == LOOKS) {
                    throw ZooKeeperErrors.notConnected(
                            new IllegalStateException("none within " + patience.toMillis() + " ms"));
                }
            }
            return client.getZookeeperClient().getZooKeeper().getSessionTimeout();
        } catch (InterruptedException interruption) {
            interrupted = true;
            throw ZooKeeperErrors.notConnected(interruption);
        } catch (StoreException ours) {
            throw ours;
        } catch (Exception failure) {
            throw ZooKeeperErrors.notConnected(failure);
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static boolean isLoginRefused(CuratorFramework client) {
        try {
            return client.getZookeeperClient().getZooKeeper().getState() == States.AUTH_FAILED;
        } catch (Exception notConnectedYet) {
            return false;
        }
    }

    /**
     * The present session.
     *
     * @throws StoreException with effect NONE if there is none, or the store is closed
     */
    public SessionClient current() {
        if (closed) {
            throw ZooKeeperErrors.closed();
        }
        ZooKeeper raw;
        try {
            raw = client.getZookeeperClient().getZooKeeper();
        } catch (Exception failure) {
            throw ZooKeeperErrors.notConnected(failure);
        }
        SessionClient known = last;
        if (known == null || !known.isOf(raw)) {
            known = new SessionClient(raw);
            last = known;
        }
        return known;
    }

    public boolean isClosed() {
        return closed;
    }

    /** The time-out of the first session, as the server granted it. */
    public Duration timeout() {
        return Duration.ofMillis(timeoutMillis);
    }

    /** For how long after a request was sent the session surely lives, if the leader has answered it. */
    public static Duration sure(Duration timeout) {
        return Duration.ofNanos(timeout.toNanos() / PARTS * SURE_PARTS);
    }

    /** The same for the session of a handle. */
    public Duration sure(SessionClient handle) {
        int granted = handle.timeoutMillis();
        return sure(granted > 0 ? Duration.ofMillis(granted) : timeout());
    }

    @Override
    public void close() {
        closed = true;
        if (owned) {
            client.close();
        }
    }

    @Override
    public String toString() {
        return client.getZookeeperClient().getCurrentConnectionString();
    }
}
