package dev.holdfast.etcd.rpc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.testkit.ManualClock;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** When a channel that waits before it connects again is told not to wait. */
class EndpointsTest {

    private static final class WaitingChannel extends ManagedChannel {

        private ConnectivityState state = ConnectivityState.TRANSIENT_FAILURE;
        private int resets;

        @Override
        public ConnectivityState getState(boolean requestConnection) {
            return state;
        }

        @Override
        public void resetConnectBackoff() {
            resets++;
        }

        @Override
        public <Q, A> ClientCall<Q, A> newCall(MethodDescriptor<Q, A> method, CallOptions options) {
            throw new UnsupportedOperationException();
        }

        @Override
        public String authority() {
            return "waiting";
        }

        @Override
        public ManagedChannel shutdown() {
            return this;
        }

        @Override
        public ManagedChannel shutdownNow() {
            return this;
        }

        @Override
        public boolean isShutdown() {
            return false;
        }

        @Override
        public boolean isTerminated() {
            return false;
        }

        @Override
        public boolean awaitTermination(long timeout, TimeUnit unit) {
            return true;
        }
    }

    @Test
    void callThatIsDueConnectsAtOnceButNotMoreOftenThanTheBound() {
        ManualClock clock = new ManualClock();
        WaitingChannel one = new WaitingChannel();
        WaitingChannel other = new WaitingChannel();
        Endpoints endpoints = new Endpoints(List.of(one, other), List.of(), clock);
        endpoints.channel(0);
        endpoints.channel(0);
        assertThat(one.resets).isEqualTo(1);
        endpoints.channel(1);
        assertThat(other.resets).isEqualTo(1);
        clock.advance(Endpoints.RECONNECT.minus(Duration.ofNanos(1)));
        endpoints.channel(0);
        assertThat(one.resets).isEqualTo(1);
        clock.advance(Duration.ofNanos(1));
        endpoints.channel(0);
        assertThat(one.resets).isEqualTo(2);
        clock.advance(Endpoints.RECONNECT);
        one.state = ConnectivityState.READY;
        endpoints.channel(0);
        assertThat(one.resets).isEqualTo(2);
    }
}
