package dev.holdfast.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.etcd.config.EtcdUrl;
import dev.holdfast.etcd.rpc.EtcdChannels;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.RecordingListener;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Each answer has a time limit, and a call may need many of them: so the whole call has one, too. Here it is the only one, and no
 * answer comes.
 */
class CallTimeTest extends WithPlainServer {

    /** Of one answer. What is to succeed here, as on any machine, takes less than the six that a call may take. */
    private static final Duration SHORT = Duration.ofSeconds(1);

    private FaultyClient client;
    private LockStore store;

    @BeforeEach
    void openTheStore() {
        EtcdUrl url = EtcdUrl.parse(server.url() + "?session=5m");
        client = new FaultyClient(EtcdChannels.open(url));
        client.timeout = SHORT;
        store = closing(EtcdLockStore.opened(client, url.options(), MonotonicClock.SYSTEM));
    }

    private static Effect effect(CompletionStage<?> call) {
        return failure(call.toCompletableFuture().orTimeout(20, TimeUnit.SECONDS))
                .effect();
    }

    @Test
    void eachCallEndsInTime() {
        Claim holder = alice.mutex(name);
        granted(store, holder);
        Claim other = bob.mutex(name);
        client.delayedWaitFor = new CompletableFuture<>();
        client.delaysAnswer = request -> true;
        CompletionStage<?> attempt = store.tryAcquire(other);
        CompletionStage<?> renewal = store.renew(List.of(holder));
        CompletionStage<?> inspection = store.inspect(name);
        CompletionStage<?> list = store.list("", 10);
        CompletionStage<?> release = store.release(holder);
        RecordingListener waiter = new RecordingListener();
        store.enqueue(alice.mutex(name), waiter);
        assertThat(effect(attempt)).isEqualTo(Effect.UNKNOWN);
        assertThat(effect(renewal)).isEqualTo(Effect.UNKNOWN);
        assertThat(effect(inspection)).isEqualTo(Effect.NONE);
        assertThat(effect(list)).isEqualTo(Effect.NONE);
        assertThat(effect(release)).isEqualTo(Effect.UNKNOWN);
        assertThat(failure(waiter).effect()).isEqualTo(Effect.UNKNOWN);
    }

    /** The answer comes after all, when the claim was released. */
    @Test
    void lateGrantIsNone() {
        CompletableFuture<Void> answers = new CompletableFuture<>();
        client.delayedWaitFor = answers;
        client.delaysAnswer = FaultyClient::puts;
        Claim claim = alice.mutex(name);
        assertThat(effect(store.tryAcquire(claim))).isEqualTo(Effect.UNKNOWN);
        client.delaysAnswer = request -> false;
        assertThat(released(store, claim.again())).isTrue();
        answers.complete(null);
        assertThat(get(store.inspect(name))).isEmpty();
        assertThat(renewed(store, claim)).isInstanceOf(Renewed.Gone.class);
    }
}
