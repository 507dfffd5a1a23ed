package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.Holdfast;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.RecordingListener;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.ConnectionPoolConfig;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.RedisClient;

/** Passwords, users, databases, and which connections are used. */
class ConnectionTest extends WithServer {

    @Test
    void missingAndWrongPasswordsAreReported() {
        try (Jedis jedis = server.connect()) {
            jedis.configSet("requirepass", "secret");
        }
        String at = "127.0.0.1:" + server.port();
        granted(openUrl("redis://:secret@" + at), alice.mutex(name));
        granted(openUrl("redis://default:secret@" + at), alice.mutex(new LockName("other")));
        assertRefused("redis://" + at, "asks for a password");
        assertRefused("redis://" + at + "?replicas=1", "asks for a password");
        assertRefused("redis://:wrong@" + at, "password is wrong");
        assertRefused("redis://nobody:secret@" + at, "password is wrong");
    }

    /** Redis 5 has no HELLO, and proxies may refuse it. */
    @Test
    void serverWithoutHelloServesLocks() {
        RedisServer without = closing(started("--rename-command", "HELLO", "", "--requirepass", "secret"));
        LockStore store = openUrl("redis://:secret@127.0.0.1:" + without.port());
        Claim holder = alice.mutex(name);
        granted(store, holder);
        RecordingListener listener = waiting(store, bob.mutex(name));
        get(store.release(holder));
        awaitGrant(listener);
        try (RedisClient client = RedisClient.create("redis://:secret@127.0.0.1:" + without.port())) {
            granted(closing(RedisLockStore.over(client, "")), alice.mutex(new LockName("other")));
        }
    }

    /** Editions of Redis that check scripts, and nodes of a cluster, refuse keys that a script does not declare. */
    @Test
    void scriptsTouchNoKeyButTheirOwn() {
        LockName second = new LockName(name + "-2");
        server.ask(jedis -> jedis.aclSetUser(
                "app",
                "on",
                ">secret",
                "~holdfast:{" + name + "}",
                "~holdfast:{" + second + "}",
                "~holdfast:{holdfast}", // of the request by which a store that is opened tries its connection
                "&holdfast:*",
                "+@all"));
        LockStore store = openUrl("redis://app:secret@127.0.0.1:" + server.port());
        Claim holder = alice.mutex(name);
        granted(store, holder);
        Claim next = bob.mutex(name);
        RecordingListener listener = waiting(store, next);
        assertThat(get(store.renew(List.of(holder, next))))
                .hasOnlyElementsOfTypes(Granted.class, Renewed.Waiting.class);
        assertThat(get(store.inspect(name)).orElseThrow().waiters()).hasSize(1);
        get(store.release(holder.again()));
        awaitGrant(listener);
        assertThat(get(store.release(alice.mutex(name).again())).wasOwner()).isFalse();
        get(store.release(next));
        assertThat(get(store.tryAcquireAll(List.of(alice.mutex(name), alice.mutex(second)))))
                .hasOnlyElementsOfType(Granted.class);
        assertThat(get(store.list(name.value(), 10))).containsExactly(name, second);
    }

    @Test
    void userNeedsOnlyWhatTheDocumentationSays() {
        try (Jedis jedis = server.connect()) {
            jedis.aclSetUser(
                    "app",
                    "on",
                    ">secret",
                    "~holdfast:*",
                    "&holdfast:*",
                    "-@all",
                    "+@connection",
                    "+@scripting",
                    "+@pubsub",
                    "+@hash",
                    "+time",
                    "+pexpire",
                    "+scan");
            jedis.aclSetUser("mute", "on", ">secret", "~holdfast:*", "+@all");
            jedis.aclSetUser("none", "on", ">secret", "~other:*", "&*", "+@all");
        }
        String at = "@127.0.0.1:" + server.port();
        LockStore store = openUrl("redis://app:secret" + at);
        Claim holder = alice.mutex(name);
        granted(store, holder);
        RecordingListener listener = waiting(store, bob.mutex(name));
        assertThat(get(store.list("", 10))).containsExactly(name);
        assertThat(renewed(store, holder)).isInstanceOf(Granted.class);
        get(open("").release(holder));
        awaitGrant(listener);

        LockStore mute = openUrl("redis://mute:secret" + at);
        RecordingListener refused = new RecordingListener();
        mute.enqueue(alice.mutex(name), refused);
        assertThat(failure(refused)).hasMessageContaining("Cannot subscribe").hasMessageContaining("channels");
        assertThat(failure(refused).retryable()).isFalse();

        assertRefused("redis://none:secret" + at, "the user may not do this");
    }

    @Test
    void databasesAndPrefixesAreApart() {
        granted(open(""), alice.mutex(name));
        granted(open("/1"), alice.mutex(name));
        granted(open("?prefix=app:"), alice.mutex(name));
        assertThat(get(open("?prefix=app:").list("", 10))).containsExactly(name);
        assertThat(get(open("/2").list("", 10))).isEmpty();
        assertRefused(server.url() + "/99", "no database of this number");
    }

    @Test
    void clientOfTheUsersIsUsedAndNotClosed() {
        try (RedisClient client = RedisClient.create("127.0.0.1", server.port())) {
            LockStore store = RedisLockStore.over(client, "ticketTtl=2m");
            Claim holder = alice.mutex(name);
            granted(store, holder);
            RecordingListener local = waiting(store, bob.mutex(name));
            assertThat(renewed(store, holder)).isInstanceOf(Granted.class);
            get(open("").release(holder));
            awaitGrant(local);
            assertThat(store.traits().ticketTtl()).hasMinutes(2);
            store.close();
            assertThat(client.get("anything")).isNull();
            awaitUntil(() -> client.getPool().getNumActive() == 0);
        }
    }

    @Test
    void poolThatIsTooSmallIsRefused() {
        ConnectionPoolConfig pool = new ConnectionPoolConfig();
        pool.setMaxTotal(2);
        try (RedisClient client = RedisClient.builder()
                .hostAndPort("127.0.0.1", server.port())
                .poolConfig(pool)
                .build()) {
            assertThatThrownBy(() -> RedisLockStore.over(client))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("3 are needed");
        }
    }

    @Test
    void connectionsAreBoundedAndRenewalsHaveTheirOwn() throws InterruptedException {
        LockStore store = open("?connections=2");
        Claim holder = alice.mutex(name);
        granted(store, holder);
        AtomicInteger failed = new AtomicInteger();
        CountDownLatch done = new CountDownLatch(8);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            LockName own = new LockName(name + "-" + i);
            threads.add(new Thread(() -> {
                for (int round = 0; round < 50; round++) {
                    Claim claim = alice.mutex(own);
                    granted(store, claim);
                    failed.addAndGet(get(store.release(claim)).wasOwner() ? 0 : 1);
                }
                done.countDown();
            }));
        }
        threads.forEach(Thread::start);
        assertThat(renewed(store, holder)).isInstanceOf(Granted.class);
        done.await();
        assertThat(failed).hasValue(0);
        try (Jedis jedis = server.connect()) {
            // Two for work, one for renewals, and the connection of this test.
            assertThat(jedis.clientList().lines().count()).isEqualTo(4);
        }
    }

    @Test
    void closedStoreLeavesNoConnectionAndNoSubscription() {
        LockStore store = open("");
        granted(store, alice.mutex(name));
        waiting(store, bob.mutex(name));
        renewed(store, alice.mutex(name));
        store.close();
        try (Jedis jedis = server.connect()) {
            awaitUntil(() -> jedis.clientList().lines().count() == 1);
        }
    }

    @Test
    void wholeClientWorksOnIt() throws InterruptedException {
        try (Holdfast locks = Holdfast.connect(server.url());
                Holdfast others = Holdfast.connect(server.url())) {
            AtomicInteger count = new AtomicInteger();
            int[] unguarded = {0};
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                Holdfast mine = i % 2 == 0 ? locks : others;
                threads.add(new Thread(() -> {
                    for (int round = 0; round < 50; round++) {
                        mine.lock("counter").lock();
                        try {
                            unguarded[0]++;
                            count.incrementAndGet();
                        } finally {
                            mine.lock("counter").unlock();
                        }
                    }
                }));
            }
            threads.forEach(Thread::start);
            for (Thread thread : threads) {
                thread.join();
            }
            assertThat(unguarded[0]).isEqualTo(count.get()).isEqualTo(400);
        }
    }

    private void assertRefused(String url, String why) {
        assertThatThrownBy(() -> openUrl(url))
                .isInstanceOfSatisfying(StoreException.class, failure -> {
                    assertThat(failure.effect()).isEqualTo(StoreException.Effect.NONE);
                    assertThat(failure.retryable()).isFalse();
                })
                .hasMessageContaining(why);
    }
}
