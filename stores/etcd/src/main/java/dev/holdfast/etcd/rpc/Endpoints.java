package dev.holdfast.etcd.rpc;

import dev.holdfast.spi.MonotonicClock;
import io.grpc.Channel;
import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntConsumer;

/**
 * The servers of a cluster, of which one is used at a time. A caller that gets no answer from that server makes all
 * callers use the next one. A server that is frozen, or cut off from its peers, keeps its connections: only calls
 * that time out reveal it.
 */
public final class Endpoints {

    private static final long CLOSE_MILLIS = 500;

    /** A server that cannot be connected to is tried again by the first call after this time. */
    static final Duration RECONNECT = Duration.ofMillis(250);

    private final List<? extends Channel> channels;
    private final List<ManagedChannel> owned;
    private final MonotonicClock clock;
    /** When each server was last tried again, by the clock; no entry if it never was. */
    private final Map<Integer, Long> triedAt = new ConcurrentHashMap<>();

    private final AtomicInteger current = new AtomicInteger();
    private volatile IntConsumer whenLeft = endpoint -> {};

    Endpoints(List<? extends Channel> channels, List<ManagedChannel> owned, MonotonicClock clock) {
        this.channels = channels;
        this.owned = owned;
        this.clock = clock;
    }

    /** Servers whose channels are closed with this object. */
    static Endpoints of(List<ManagedChannel> channels) {
        return new Endpoints(channels, channels, MonotonicClock.SYSTEM);
    }

    /** The user's own channel, which is not closed with this object. */
    public static Endpoints over(Channel channel) {
        return new Endpoints(List.of(channel), List.of(), MonotonicClock.SYSTEM);
    }

    /** The index of the server to use now. */
    int current() {
        return current.get();
    }

    /**
     * The channel of a server, for a call that is due. After an outage gRPC waits longer and longer before it connects
     * again, up to two minutes. A call that is due does not wait for that: it has the channel connect at once, but at
     * most once in {@link #RECONNECT}. The call itself may fail; those after it find the new connection.
     */
    Channel channel(int endpoint) {
        Channel channel = channels.get(endpoint);
        if (channel instanceof ManagedChannel managed
                && managed.getState(false) == ConnectivityState.TRANSIENT_FAILURE
                && mayTryAgain(endpoint)) {
            managed.resetConnectBackoff();
        }
        return channel;
    }

    private boolean mayTryAgain(int endpoint) {
        long now = clock.nanoTime();
        boolean[] may = new boolean[1];
        triedAt.compute(endpoint, (unused, last) -> {
            may[0] = last == null || now - last >= RECONNECT.toNanos();
            return may[0] ? now : last;
        });
        return may[0];
    }

    /** Switches to the next server, unless another caller has done so already. */
    void leave(int endpoint) {
        if (current.compareAndSet(endpoint, (endpoint + 1) % channels.size())) {
            whenLeft.accept(endpoint);
        }
    }

    /** Sets the listener that is called with the index of each server that was left. */
    void whenLeft(IntConsumer listener) {
        whenLeft = listener;
    }

    void close() {
        owned.forEach(ManagedChannel::shutdown);
        long deadline = TimeUnit.MILLISECONDS.toNanos(CLOSE_MILLIS);
        boolean interrupted = false;
        for (ManagedChannel channel : owned) {
            try {
                channel.awaitTermination(deadline / owned.size(), TimeUnit.NANOSECONDS);
            } catch (InterruptedException keptForLater) {
                interrupted = true;
            }
            channel.shutdownNow();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
