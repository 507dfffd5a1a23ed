package dev.holdfast.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.Claimant;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Clients that want one lock again and again: what they send for each grant does not depend on how many they are. */
class HerdTest extends WithPlainServer {

    private static final int GRANTS_EACH = 20;

    private final AnswerMeter meter = new AnswerMeter();

    @Test
    void sixRequestsForEachGrantAreEnoughForManyClients() throws InterruptedException {
        double few = requestsForAGrant(4);
        double many = requestsForAGrant(64);
        System.out.printf("requests for a grant: %.2f with 4 clients, %.2f with 64%n", few, many);
        assertThat(many).isLessThanOrEqualTo(6);
        assertThat(few).isLessThanOrEqualTo(6);
    }

    private double requestsForAGrant(int clients) throws InterruptedException {
        CountDownLatch done = new CountDownLatch(clients);
        List<Contender> contenders = new ArrayList<>();
        for (int i = 0; i < clients; i++) {
            contenders.add(new Contender(done));
        }
        meter.reset();
        contenders.forEach(Contender::next);
        assertThat(done.await(60, TimeUnit.SECONDS)).isTrue();
        long requests = meter.requests.get();
        assertThat(contenders).allMatch(contender -> contender.failures.get() == 0);
        return (double) requests / (clients * GRANTS_EACH);
    }

    private final class Contender implements ClaimListener {

        private final Claimant me = new Claimant("me", Duration.ofMinutes(10));
        private final AtomicInteger grants = new AtomicInteger();
        private final AtomicInteger failures = new AtomicInteger();
        private final CountDownLatch done;
        private final LockStore store;
        private volatile Claim claim = me.mutex(name);

        private Contender(CountDownLatch done) {
            this.done = done;
            ManagedChannel channel = NettyChannelBuilder.forAddress("127.0.0.1", server.port())
                    .usePlaintext()
                    .intercept(meter)
                    .build();
            closing((AutoCloseable) channel::shutdownNow);
            store = closing(EtcdLockStore.over(channel, "session=5m&timeout=8s"));
        }

        private void next() {
            claim = me.mutex(name);
            store.enqueue(claim, this);
        }

        @Override
        public void waiting(int position, Duration retryAfter) {}

        @Override
        public void granted(Granted grant) {
            store.release(claim).whenComplete((released, failure) -> {
                failures.addAndGet(failure == null ? 0 : 1);
                if (grants.incrementAndGet() < GRANTS_EACH) {
                    next();
                } else {
                    done.countDown();
                }
            });
        }

        @Override
        public void ended(Renewed.Reason reason) {
            failures.incrementAndGet();
        }

        @Override
        public void failed(StoreException cause) {
            failures.incrementAndGet();
        }
    }
}
