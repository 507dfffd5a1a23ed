package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.redis.config.Layout;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.KindConflictException;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.RecordingListener;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import redis.clients.jedis.Jedis;

/**
 * A server that refuses writes, for each of the reasons that may come up in the midst of a script. Each script, in each
 * layout and in many states of a lock, either does its work or changes nothing at all.
 */
class RefusedWritesTest extends WithServer {

    /** Why a server refuses writes. */
    private enum Refusal {
        OOM {
            @Override
            void begin(Jedis jedis) {
                jedis.configSet("maxmemory", "1");
            }
        },
        NOREPLICAS {
            @Override
            void begin(Jedis jedis) {
                jedis.configSet("min-replicas-to-write", "1");
            }
        },
        MISCONF {
            @Override
            void begin(Jedis jedis) {
                try {
                    Path gone = Files.createTempDirectory("holdfast-gone");
                    jedis.configSet("dir", gone.toString());
                    Files.delete(gone);
                } catch (IOException failure) {
                    throw new UncheckedIOException(failure);
                }
                jedis.configSet("save", "3600 1000000");
                jedis.bgsave();
                awaitUntil(() -> jedis.info("persistence").contains("rdb_last_bgsave_status:err"));
            }
        };

        abstract void begin(Jedis jedis);
    }

    private final Jedis jedis = closing(server.connect());
    private final Map<String, Supplier<CompletionStage<?>>> requests = new LinkedHashMap<>();
    private final List<String> done = new ArrayList<>();

    // With this setting a test may change the folder of the data.
    @Override
    RedisServer started(String... settings) {
        return RedisServer.start("--enable-protected-configs", "yes");
    }

    @ParameterizedTest
    @EnumSource(Refusal.class)
    void recordsAreChangedAsAWholeOrNotAtAll(Refusal refusal) {
        LockStore here = open("?ticketTtl=1m");
        LockStore gone = open("?ticketTtl=1m");
        for (int state = 0; state < 8; state++) {
            LockName lock = new LockName(name + "-" + state);
            Claim holder = alice.claim(lock, 2, 3).withLease(Duration.ofMillis(200));
            granted(here, holder);
            if (state % 2 == 1) {
                renewed(here, holder.withLease(LONG));
            }
            enqueued(state / 2 % 2 == 1 ? gone : here, bob.claim(lock, 2, 3));
            Claim waiter = bob.claim(lock, 3, 3);
            enqueued(here, waiter);
            if (state / 4 == 1) {
                released(here, alice.claim(lock, 1, 3).again());
            }
            requestAbout("state " + state, here, holder, waiter);
        }
        gone.close();
        pause(201);
        eachDoesItsWorkOrNothing(refusal);
    }

    private void requestAbout(String state, LockStore store, Claim holder, Claim waiter) {
        Claim another = alice.claim(holder.name(), 1, 3);
        LockName second = new LockName(holder.name() + "-second");
        requests.put("acquire, " + state, () -> store.tryAcquire(another));
        requests.put("acquire several, " + state, () -> store.tryAcquireAll(List.of(another, alice.mutex(second))));
        requests.put("shrink, " + state, () -> store.tryAcquire(alice.claim(holder.name(), 1, 3)));
        requests.put("enqueue, " + state, () -> queued(store, alice.claim(holder.name(), 1, 3)));
        requests.put("enqueue again, " + state, () -> queued(store, waiter.again()));
        requests.put("inspect, " + state, () -> store.inspect(holder.name()));
        requests.put("renew, " + state, () -> store.renew(List.of(holder, waiter)));
        requests.put("release none, " + state, () -> store.release(another));
        requests.put("release waiter, " + state, () -> store.release(waiter));
        requests.put("release, " + state, () -> store.release(holder));
        requests.put("release again, " + state, () -> store.release(holder.again()));
    }

    private static CompletionStage<?> queued(LockStore store, Claim claim) {
        RecordingListener listener = enqueued(store, claim);
        return listener.first(RecordingListener.Event.Failed.class)
                .<CompletionStage<?>>map(failed -> CompletableFuture.failedStage(failed.cause()))
                .orElseGet(() -> CompletableFuture.completedStage(null));
    }

    @ParameterizedTest
    @EnumSource(
            value = Layout.class,
            names = {"PLAIN", "MIXED", "REDISSON", "TIMESTAMPS"})
    void otherLayoutsAreChangedAsAWholeOrNotAtAll(Layout layout) {
        LockStore store = open("?prefix=&layout=" + layout);
        for (int state = 0; state < 8; state++) {
            LockName lock = new LockName(name + "-" + state);
            Claim holder = layout == Layout.MIXED && state % 2 == 1 ? alice.read(lock) : alice.mutex(lock);
            Claim held = holder.withLease(state / 2 % 2 == 1 ? LONG : Duration.ofMillis(200));
            granted(store, held);
            if (state / 4 == 1) {
                released(store, bob.mutex(lock).again());
            }
            String as = "state " + state;
            Claim another = bob.mutex(lock);
            requests.put("acquire, " + as, () -> store.tryAcquire(another));
            requests.put("acquire free, " + as, () -> store.tryAcquire(bob.mutex(new LockName(lock + "-free"))));
            requests.put("inspect, " + as, () -> store.inspect(lock));
            requests.put("renew, " + as, () -> store.renew(List.of(held)));
            requests.put("renew longer, " + as, () -> store.renew(List.of(held.withLease(LONG.plusSeconds(1)))));
            requests.put("release none, " + as, () -> store.release(another));
            requests.put("release, " + as, () -> store.release(held));
            requests.put("release again, " + as, () -> store.release(held.again()));
        }
        pause(201);
        eachDoesItsWorkOrNothing(Refusal.OOM);
        eachDoesItsWorkOrNothing(Refusal.NOREPLICAS);
    }

    private void eachDoesItsWorkOrNothing(Refusal refusal) {
        refusal.begin(jedis);
        requests.forEach((what, request) -> {
            Map<String, String> before = contents();
            StoreException refused = refused(request);
            if (refused == null) {
                done.add(what);
                return;
            }
            assertThat(refused).as(what).hasMessageContaining(refusal.name());
            assertThat(refused.effect()).as(what).isEqualTo(Effect.NONE);
            assertThat(refused.retryable()).as(what).isTrue();
            assertThat(contents()).as(what).isEqualTo(before);
        });
        if (refusal == Refusal.OOM) {
            assertThat(done)
                    .containsAll(requests.keySet().stream()
                            .filter(what -> what.matches("(renew|release).*"))
                            .toList());
        }
    }

    private static StoreException refused(Supplier<CompletionStage<?>> request) {
        try {
            Object answer = get(request.get());
            return answer instanceof List<?> all && all.get(0) instanceof Renewed.Failed failed ? failed.cause() : null;
        } catch (KindConflictException busy) {
            return null;
        } catch (StoreException failure) {
            return failure;
        }
    }

    private Map<String, String> contents() {
        Map<String, String> all = new TreeMap<>();
        for (String key : jedis.keys("*")) {
            all.put(
                    key,
                    jedis.type(key).equals("hash") ? new TreeMap<>(jedis.hgetAll(key)).toString() : jedis.get(key));
        }
        return all;
    }
}
