package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.redis.config.Layout;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.RecordingListener;
import dev.holdfast.testkit.Seeds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import redis.clients.jedis.Jedis;

/**
 * Another program has written into the keys of a lock. Whatever it wrote, and whatever is asked then: there are never more
 * grants than the limit allows, a failure says which key must be removed, a failure without effect had none, and the lock
 * works again when its keys are removed. What cannot be seen is left out: a whole grant, or the summary, that is missing or
 * was replaced by another one of the right form.
 */
class DamagedKeysTest extends WithServer {

    private static final int RECORDS = 200;
    /** A run that has not met all outcomes by chance goes on until it has, but not for ever. */
    private static final int MOST_RECORDS = 2_000;

    private static final Set<String> OUTCOMES =
            Set.of("acquire NONE", "enqueue NONE", "release NONE", "release UNKNOWN", "renew NONE", "inspect NONE");
    private static final int KEYS = 60;
    private static final int LIMIT = 3;
    private static final List<String> TEXTS = List.of(
            "",
            "somebody else's",
            "-1",
            "nan",
            "1e999",
            "99999999999999999999999999",
            "1 2",
            "1 2 3 4",
            "99999999999999999999 1 1 1 1 0\nx");

    private final Jedis jedis = closing(server.connect());
    private final Random random = new Random(Seeds.of("damaged keys"));
    private final Map<String, Integer> met = new TreeMap<>();
    private final Map<ClaimId, Integer> live = new HashMap<>();
    private final Map<Claim, RecordingListener> listeners = new HashMap<>();
    private final List<Runnable> requests = new ArrayList<>();
    private String what = "";
    private String damaged = "";

    // ---- the default layout ----

    @Test
    void recordsThatAreDamaged() {
        LockStore here = open("?ticketTtl=1m");
        LockStore there = open("?ticketTtl=1m");
        for (int i = 0; i < RECORDS || (i < MOST_RECORDS && !met.keySet().containsAll(OUTCOMES)); i++) {
            LockName lock = new LockName(name + "-" + i);
            String key = "holdfast:{" + lock + "}";
            live.clear();
            listeners.clear();
            requests.clear();
            what = "record " + i + ": ";
            useARecord(here, there, lock);
            damaged = key;
            what += damage(key);
            Collections.shuffle(requests, random);
            for (Runnable request : requests) {
                request.run();
                assertThat(permitsHeld()).as(what).isLessThanOrEqualTo(LIMIT);
            }
            jedis.del(key);
            granted(there, bob.mutex(lock));
        }
        assertThat(met.keySet()).containsAll(OUTCOMES);
    }

    /** The release is done when the sweep of the tombstones meets a grant that cannot be read. */
    @Test
    void releaseThatFailsAfterItWasDoneIsUnknown() {
        LockStore store = open("");
        String key = "holdfast:{" + name + "}";
        Claim holder = alice.claim(name, LIMIT, LIMIT);
        granted(store, holder);
        jedis.hset(key, Map.of("x.1", "somebody else's", "graves", "1000"));
        StoreException failure = failure(store.release(holder.again()));
        assertThat(jedis.hexists(key, holder.id().toString())).isFalse();
        assertThat(failure).hasMessageContaining(key).hasMessageContaining("remove");
        assertThat(failure.effect()).isEqualTo(Effect.UNKNOWN);
        granted(store, bob.claim(name, LIMIT, LIMIT));
    }

    /** A walk along it would never end, and the server would answer nobody. */
    @Test
    void queueThatIsARingIsReported() {
        LockStore store = open("?ticketTtl=1m");
        String key = "holdfast:{" + name + "}";
        Claim holder = alice.mutex(name);
        granted(store, holder);
        Claim first = bob.mutex(name);
        enqueued(store, first);
        Claim last = bob.mutex(name);
        enqueued(store, last);
        jedis.hset(key, "@" + last.id(), first.id() + " " + first.id() + " 1");
        jedis.hset(key, "@" + first.id(), last.id() + " " + last.id() + " 1");
        jedis.hset(key, "queue", first.id() + " " + last.id() + " " + first.id() + " 2");
        for (CompletionStage<?> call : List.of(store.inspect(name), store.release(first), store.release(last))) {
            assertThat(failure(call)).hasMessageContaining(key).hasMessageContaining("remove");
        }
        // The last one is not looked at from the front.
        assertThat(get(queued(store, bob.mutex(name)))).isNull();
        assertThat(jedis.del(key)).isEqualTo(1);
        granted(store, holder);
    }

    /** Some hold, some wait, some were released, and then all kinds of requests come. */
    private void useARecord(LockStore here, LockStore there, LockName lock) {
        for (int left = LIMIT; left > 0 && random.nextInt(4) > 0; left--) {
            Duration lease = random.nextInt(4) == 0 ? Duration.ofMillis(100) : LONG;
            Claim holder = alice.claim(lock, 1, LIMIT).withLease(lease);
            granted(here, holder);
            grant(holder);
            askAbout(here, lock, holder);
        }
        for (int i = random.nextInt(4); i > 0 && !live.isEmpty(); i--) {
            LockStore store = random.nextBoolean() ? here : there;
            Claim waiter = bob.claim(lock, LIMIT, LIMIT);
            listeners.put(waiter, enqueued(store, waiter));
            askAbout(store, lock, waiter);
        }
        if (random.nextInt(3) == 0) {
            get(here.release(alice.claim(lock, 1, LIMIT).again()));
        }
        if (random.nextInt(10) == 0) {
            pause(101); // Some grants are over.
        }
        askAbout(there, lock, alice.claim(lock, 1, LIMIT));
        ask("inspect", null, lock, () -> there.inspect(lock));
        ask("list", null, lock, () -> there.list(lock.value(), 10));
    }

    private void askAbout(LockStore store, LockName lock, Claim claim) {
        Claim another = alice.claim(lock, 1 + random.nextInt(LIMIT), LIMIT);
        ask("acquire", claim, lock, () -> store.tryAcquire(claim.again()));
        ask("acquire", another, lock, () -> store.tryAcquire(another));
        ask(
                "acquire",
                another,
                lock,
                () -> store.tryAcquireAll(List.of(another, bob.mutex(new LockName(lock + "-b")))));
        ask("enqueue", claim, lock, () -> queued(store, claim.again()));
        ask("renew", claim, lock, () -> store.renew(List.of(claim)));
        ask("release", claim, lock, () -> store.release(random.nextBoolean() ? claim : claim.again()));
    }

    private CompletionStage<?> queued(LockStore store, Claim claim) {
        RecordingListener listener = enqueued(store, claim);
        listeners.put(claim, listener);
        return listener.first(RecordingListener.Event.Failed.class)
                .<CompletionStage<?>>map(failed -> CompletableFuture.failedStage(failed.cause()))
                .orElseGet(() -> CompletableFuture.completedStage(
                        listener.first(RecordingListener.Event.Granted.class).orElse(null)));
    }

    private String damage(String key) {
        if (random.nextInt(20) == 0) {
            jedis.del(key);
            jedis.lpush(key, "somebody else's");
            return "a list";
        }
        List<String> fields = new ArrayList<>(new TreeSet<>(jedis.hkeys(key)));
        fields.addAll(List.of("x.1", ">x.1", "@x.1", "!x.1", "queue", "swept", "graves"));
        String field = fields.get(random.nextInt(fields.size()));
        boolean mayBeRemoved = field.matches("[@>!].*|queue|swept|graves|kept|counter");
        if (mayBeRemoved && random.nextInt(3) == 0) {
            jedis.hdel(key, field);
            return field + " removed from " + jedis.hgetAll(key);
        }
        String text = field.startsWith("@") || field.equals("queue")
                ? place(fields)
                : TEXTS.get(random.nextInt(TEXTS.size()));
        String before = String.valueOf(jedis.hgetAll(key));
        jedis.hset(key, field, text);
        return field + " = '" + text + "' in " + before;
    }

    /** A place that may be of the right form, but leads anywhere. */
    private String place(List<String> fields) {
        List<String> words = new ArrayList<>();
        for (int i = 1 + random.nextInt(4); i > 0; i--) {
            String field = fields.get(random.nextInt(fields.size()));
            words.add(field.startsWith("@") ? field.substring(1) : random.nextBoolean() ? "-" : field);
        }
        return String.join(" ", words) + " " + random.nextInt(3);
    }

    // ---- the other layouts ----

    @ParameterizedTest
    @EnumSource(
            value = Layout.class,
            names = {"PLAIN", "MIXED", "REDISSON", "TIMESTAMPS"})
    void keysOfOtherLayoutsThatAreDamaged(Layout layout) {
        LockStore here = open("?prefix=&layout=" + layout);
        LockStore there = open("?prefix=&layout=" + layout);
        for (int i = 0; i < KEYS; i++) {
            LockName lock = new LockName(name + "-" + i);
            String record = Layout.PLAIN_RECORDS + "{" + lock + "}";
            live.clear();
            requests.clear();
            what = layout + " " + i + ": ";
            Claim holder = alice.mutex(lock);
            granted(here, holder);
            grant(holder);
            for (LockStore store : List.of(here, there)) {
                Claim another = bob.mutex(lock);
                ask("acquire", another, lock, () -> store.tryAcquire(another));
                ask(
                        "release",
                        another,
                        lock,
                        () -> store.release(bob.mutex(lock).again()));
                ask("renew", holder, lock, () -> store.renew(List.of(holder)));
                ask("acquire", holder, lock, () -> store.tryAcquire(holder.again()));
                ask("inspect", null, lock, () -> store.inspect(lock));
                ask("list", null, lock, () -> store.list(lock.value(), 10));
            }
            Collections.shuffle(requests, random);
            ask("release", holder, lock, () -> there.release(random.nextBoolean() ? holder : holder.again()));
            damaged = random.nextInt(3) == 0 ? lock.value() : record;
            what += damaged.equals(lock.value()) ? damageLock(lock.value(), layout) : damageRecord(record, layout);
            for (Runnable request : requests) {
                request.run();
                assertThat(live.size()).as(what).isLessThanOrEqualTo(1);
            }
            jedis.del(lock.value(), record);
            granted(there, bob.mutex(lock));
        }
        assertThat(met.keySet()).contains("acquire NONE", "renew NONE", "inspect NONE", "release NONE");
    }

    @ParameterizedTest
    @EnumSource(
            value = Layout.class,
            names = {"PLAIN", "MIXED", "REDISSON", "TIMESTAMPS"})
    void releaseOfOtherLayoutsThatFailsAfterItWasDoneIsUnknown(Layout layout) {
        LockStore store = open("?prefix=&layout=" + layout);
        Claim holder = alice.mutex(name);
        granted(store, holder);
        String record = Layout.PLAIN_RECORDS + "{" + name + "}";
        jedis.hset(record, Map.of("x.1", "somebody else's", "graves", "1000"));
        StoreException failure = failure(store.release(holder.again()));
        assertThat(jedis.exists(name.value())).isFalse();
        assertThat(failure).hasMessageContaining(record).hasMessageContaining("remove");
        assertThat(failure.effect()).isEqualTo(Effect.UNKNOWN);
        granted(store, bob.mutex(name));
    }

    private String damageLock(String key, Layout layout) {
        String text = TEXTS.get(random.nextInt(TEXTS.size()));
        if (random.nextBoolean()) {
            jedis.del(key);
            jedis.lpush(key, text);
            return key + " is a list";
        }
        if (layout == Layout.REDISSON) {
            jedis.hset(key, text, text);
        } else {
            jedis.set(key, text);
        }
        return key + " = '" + text + "'";
    }

    private String damageRecord(String key, Layout layout) {
        if (random.nextInt(8) == 0) {
            jedis.del(key);
            jedis.lpush(key, "somebody else's");
            return key + " is a list";
        }
        List<String> fields =
                new ArrayList<>(List.of("counter", "kept", "use", "queue", "graves", "swept", "x.1", "!x.1", ">x.1"));
        fields.addAll(layout == Layout.TIMESTAMPS ? List.of("holder", "stamp", "until") : List.of("holder"));
        String field = fields.get(random.nextInt(fields.size()));
        String text = TEXTS.get(random.nextInt(TEXTS.size()));
        jedis.hset(key, field, text);
        if (layout == Layout.TIMESTAMPS && random.nextBoolean()) {
            // As one who has lost the race for a time that is past leaves it.
            jedis.set(key.substring(key.indexOf('{') + 1, key.length() - 1), "1500000000000");
        }
        return key + " " + field + " = '" + text + "'";
    }

    // ---- what every answer must be ----

    // A short grant may be over at any time.
    private void grant(Claim claim) {
        live.put(claim.id(), claim.lease().equals(LONG) ? claim.permits() : 0);
    }

    private void end(Claim claim) {
        live.remove(claim.id());
        listeners.keySet().removeIf(one -> one.id().equals(claim.id()));
    }

    private int permitsHeld() {
        listeners.forEach((claim, listener) -> {
            if (listener.first(RecordingListener.Event.Granted.class).isPresent()) {
                grant(claim);
            }
        });
        return live.values().stream().mapToInt(permits -> permits).sum();
    }

    /** @param claim whose state a failure without effect leaves as it was; null if the request is about none */
    private void ask(String verb, Claim claim, LockName lock, Supplier<CompletionStage<?>> request) {
        requests.add(() -> {
            boolean before = claim != null && isThere(claim);
            try {
                answered(verb, claim, get(request.get()));
            } catch (StoreException failure) {
                failed(verb, claim, lock, before, failure);
            }
        });
    }

    private void answered(String verb, Claim claim, Object answer) {
        Object one = answer instanceof List<?> several && !several.isEmpty() ? several.get(0) : answer;
        if (one instanceof Renewed.Failed failed) {
            throw failed.cause();
        }
        if (verb.equals("release") || one instanceof Renewed.Gone) {
            end(claim);
        } else if (one instanceof Granted) {
            grant(claim);
        }
        met.merge(verb, 1, Integer::sum);
    }

    private void failed(String verb, Claim claim, LockName lock, boolean before, StoreException failure) {
        String as = what + ", " + verb + ": " + failure;
        assertThat(failure.getMessage()).as(as).contains(lock.value(), damaged).containsAnyOf("remove", "another name");
        assertThat(failure.getMessage()).as(as).doesNotContain("attempt to").doesNotContain("cannot be read");
        if (failure.effect() == Effect.NONE && claim != null) {
            // A short grant may be over, and any request may remove it then.
            assertThat(isThere(claim) == before || !claim.lease().equals(LONG))
                    .as(as)
                    .isTrue();
        } else if (verb.equals("release")) {
            end(claim);
        }
        met.merge(verb + " " + failure.effect(), 1, Integer::sum);
    }

    private boolean isThere(Claim claim) {
        for (String key :
                List.of("holdfast:{" + claim.name() + "}", claim.name().value())) {
            String type = jedis.type(key);
            if (type.equals("hash") && (jedis.hexists(key, "" + claim.id()) || jedis.hexists(key, ">" + claim.id()))) {
                return true;
            }
            if (type.equals("string") && jedis.get(key).contains(claim.id() + " ")) {
                return true;
            }
        }
        return false;
    }
}
