package dev.holdfast.zookeeper.session;

import dev.holdfast.spi.StoreException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.imps.CuratorFrameworkState;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.ZooKeeper.States;
import org.jspecify.annotations.Nullable;

/**
 * The current session of the client. Curator connects, and opens a new session when one has expired.
 *
 * <h2>How long a session is guaranteed to live</h2>
 *
 * A session expires one time-out after the <em>leader</em> last received a sign of life of the client. Only for a
 * client that is connected to the leader is each request such a sign. A follower answers its clients itself, and
 * reports to the leader each half tick which clients were active; a request that it forwards does not count. If the
 * follower is disconnected right after it delivered a reply, the leader may know only of the client's last ping
 * before, which is up to a third of the time-out older, plus half a tick. Servers allow no time-out below two
 * ticks, so at least two fifths of the time-out are then left. A grant is never reported with a longer lease than
 * this.
 */
public final class Sessions implements AutoCloseable {

    /** A session is guaranteed to live for this many of {@link #TOTAL_PARTS} parts of its time-out. */
    private static final int GUARANTEED_PARTS = 2;
    /** The number of parts into which a session time-out is divided. */
    private static final int TOTAL_PARTS = 5;

    /** The number of checks for a refused login while the client connects. */
    private static final int CONNECT_CHECKS = 100;

    /** After so long a client has noticed that its connection is broken, or nearly always. */
    private static final long NOTICED_NANOS = 100_000_000;

    private final CuratorFramework client;
    private final boolean owned;
    private final int timeoutMillis;
    private volatile boolean closed;
    private volatile boolean ended;
    private volatile @Nullable SessionClient last;

    /**
     * @param client a started client
     * @param owned whether the store closes the client
     */
    public Sessions(CuratorFramework client, boolean owned, Duration connectTimeout) {
        this.client = client;
        this.owned = owned;
        this.timeoutMillis = connected(client, connectTimeout);
    }

    private static int connected(CuratorFramework client, Duration connectTimeout) {
        boolean interrupted = Thread.interrupted();
        try {
            int checks = 0;
            while (!client.blockUntilConnected(
                    Math.toIntExact(connectTimeout.toNanos() / CONNECT_CHECKS), TimeUnit.NANOSECONDS)) {
                if (isLoginRefused(client)) {
                    throw ZooKeeperErrors.loginRefused();
                }
                checks++;
                if (checks == CONNECT_CHECKS) {
                    throw ZooKeeperErrors.notConnected(
                            new IllegalStateException("none within " + connectTimeout.toMillis() + " ms"));
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

    /**
     * After a request failed with its connection or its session: waits until the client has another one. It needs a moment to
     * notice that it has none.
     *
     * @param limit how long all of this may take
     * @return false at once if that is too short for it to notice
     * @throws StoreException if it has none in time
     */
    public boolean awaitConnectedAgain(Duration limit) {
        Duration toConnect = limit.minusNanos(NOTICED_NANOS);
        if (toConnect.isNegative()) {
            return false;
        }
        LockSupport.parkNanos(this, NOTICED_NANOS);
        int ignored = connected(client, toConnect);
        return true;
    }

    private static boolean isLoginRefused(CuratorFramework client) {
        try {
            return client.getZookeeperClient().getZooKeeper().getState() == States.AUTH_FAILED;
        } catch (Exception notConnectedYet) {
            return false;
        }
    }

    /**
     * The current session.
     *
     * @throws StoreException with effect NONE if there is none, or the store is closed
     */
    public SessionClient current() {
        if (closed) {
            throw ZooKeeperErrors.closed();
        }
        return inBackground();
    }

    /**
     * The current session, for what is done behind the calls, also after the store was closed.
     *
     * @throws StoreException with effect NONE if there is none
     */
    public SessionClient inBackground() {
        ZooKeeper zooKeeper;
        try {
            zooKeeper = client.getZookeeperClient().getZooKeeper();
        } catch (Exception failure) {
            throw ZooKeeperErrors.notConnected(failure);
        }
        SessionClient known = last;
        if (known == null || !known.isOf(zooKeeper)) {
            known = new SessionClient(zooKeeper, !owned);
            last = known;
        }
        return known;
    }

    /**
     * Has the client connect to another server, because this one does not answer. The client itself notices that only when
     * two thirds of the session's time-out are over, and so much is not sure to be left. Does nothing with a client of the
     * user's, who may use the connection for more than locks, or if there is no other server.
     */
    public void leaveServer(SessionClient session) {
        boolean several =
                client.getZookeeperClient().getCurrentConnectionString().contains(",");
        if (owned && several && !closed) {
            session.disconnect();
        }
    }

    /** Whether the session outlives the store, and with it all nodes: it is that of the user's client, which is not closed. */
    public boolean outlivesStore() {
        return !owned && client.getState() == CuratorFrameworkState.STARTED;
    }

    /** Whether nothing is done in the background any more. */
    public boolean isEnded() {
        return ended;
    }

    /** The time-out of the first session, as granted by the server. */
    public Duration timeout() {
        return Duration.ofMillis(timeoutMillis);
    }

    /**
     * How long a session is guaranteed to live after a request was sent, if the leader has answered that request.
     */
    public static Duration guaranteedLifetime(Duration timeout) {
        return Duration.ofNanos(timeout.toNanos() / TOTAL_PARTS * GUARANTEED_PARTS);
    }

    /** How long this session is guaranteed to live after a request that the leader has answered. */
    public Duration guaranteedLifetime(SessionClient session) {
        int granted = session.timeoutMillis();
        return guaranteedLifetime(granted > 0 ? Duration.ofMillis(granted) : timeout());
    }

    /** Has all further calls fail. What is done in the background goes on. */
    public void refuseCalls() {
        closed = true;
    }

    @Override
    public void close() {
        closed = true;
        ended = true;
        if (owned) {
            client.close();
        }
    }

    @Override
    public String toString() {
        return client.getZookeeperClient().getCurrentConnectionString();
    }
}
