package dev.holdfast.etcd.rpc;

import io.grpc.Channel;
import io.grpc.ManagedChannel;
import java.util.List;
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

    private final List<? extends Channel> channels;
    private final List<ManagedChannel> owned;
    private final AtomicInteger current = new AtomicInteger();
    private volatile IntConsumer whenLeft = endpoint -> {};

    private Endpoints(List<? extends Channel> channels, List<ManagedChannel> owned) {
        this.channels = channels;
        this.owned = owned;
    }

    /** Servers whose channels are closed with this object. */
    static Endpoints of(List<ManagedChannel> channels) {
        return new Endpoints(channels, channels);
    }

    /** The user's own channel, which is not closed with this object. */
    public static Endpoints over(Channel channel) {
        return new Endpoints(List.of(channel), List.of());
    }

    /** The index of the server to use now. */
    int current() {
        return current.get();
    }

    Channel channel(int endpoint) {
        return channels.get(endpoint);
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
