package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.redis.client.Script;
import dev.holdfast.redis.config.Layout;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.StoreTest;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisMonitor;
import redis.clients.jedis.resps.AccessControlLogEntry;
import redis.clients.jedis.resps.CommandInfo;

/**
 * That scripts touch only the keys that they declare, in every layout: editions of Redis that check scripts, and nodes of
 * a cluster, refuse others.
 */
class DeclaredKeysTest extends StoreTest {

    /** What a script may do besides that names no key. A search for keys would name none either. */
    private static final Set<String> WITHOUT_KEYS = Set.of("TIME", "PUBLISH", "PUBSUB", "INFO");

    private static final Pattern WORD = Pattern.compile("\"((?:[^\"\\\\]++|\\\\.)*+)\"");
    private static final Duration SHORT = Duration.ofMillis(100);

    @AutoClose
    private static RedisServer server = RedisServer.start();

    // ---- what the scripts do, as the server shows it ----

    @ParameterizedTest
    @EnumSource(Layout.class)
    void scriptsTouchOnlyTheKeysOfTheirCall(Layout layout) throws InterruptedException {
        LockStore store = open("", layout);
        LockStore other = open("", layout);
        ScriptLog log = new ScriptLog();
        useAsAnyoneDoes(store, other, layout);
        Set<String> seen = log.checked();
        assertThat(seen).as("the scripts that were run").containsAll(digests(layout));
    }

    /** Uses every verb in the states in which the scripts differ in what they do. */
    private void useAsAnyoneDoes(LockStore store, LockStore other, Layout layout) {
        Claim holder = alice.mutex(name);
        Claim brief = alice.mutex(new LockName(name + "-brief")).withLease(SHORT);
        Claim lost = alice.mutex(new LockName(name + "-lost"));
        for (Claim claim : List.of(holder, brief, lost)) {
            granted(store, claim);
            granted(store, claim.again());
        }
        busy(other, bob.mutex(name));
        server.ask(jedis -> jedis.del(keys(lost.name(), layout).toArray(String[]::new)));
        get(store.renew(List.of(holder, brief, lost)));
        get(store.renew(List.of(holder.withLease(LONG.plusSeconds(1)), lost)));
        assertThat(get(store.inspect(name))).isPresent();
        assertThat(get(store.list(name.value(), 9))).contains(name);
        if (layout == Layout.RECORD) {
            useTheQueue(store, other, holder);
        }
        if (layout.hasAllKinds()) {
            useOtherKinds(store, other);
        }
        released(other, bob.mutex(name));
        released(other, bob.mutex(name).again());
        released(store, holder);
        busy(store, failedToTake(store, holder));
        awaitUntil(() -> get(store.inspect(brief.name())).isEmpty());
        granted(other, bob.mutex(brief.name()));
        get(store.renew(List.of(brief)));
    }

    private Claim failedToTake(LockStore store, Claim holder) {
        Claim over = alice.mutex(holder.name());
        released(store, over.again());
        return over;
    }

    private void useTheQueue(LockStore store, LockStore other, Claim holder) {
        Claim next = bob.mutex(name);
        Claim last = bob.mutex(name);
        waiting(other, next);
        waiting(store, last);
        get(store.renew(List.of(holder, last)));
        assertThat(get(store.inspect(name)).orElseThrow().waiters()).hasSize(2);
        released(other, next);
        LockName second = new LockName(name + "-2");
        assertThat(get(store.tryAcquireAll(List.of(alice.mutex(second), alice.mutex(new LockName(name + "-3"))))))
                .hasOnlyElementsOfType(Granted.class);
        get(store.tryAcquireAsNode(alice.mutex(new LockName(name + "-4")), 1, false));
        waiting(other, next);
        released(store, holder);
        released(store, last);
        released(other, next);
        granted(store, holder);
    }

    private void useOtherKinds(LockStore store, LockStore other) {
        LockName shared = new LockName(name + "-shared");
        Claim reader = alice.read(shared);
        granted(store, reader);
        granted(other, bob.read(shared).withLease(SHORT));
        busy(other, bob.write(shared));
        get(store.renew(List.of(reader)));
        awaitUntil(() -> get(store.inspect(shared)).orElseThrow().holders().size() == 1);
        assertThat(get(store.list(name.value(), 9))).contains(shared);
        released(store, reader.again());
    }

    /** What the server's scripts do from now on. */
    private static final class ScriptLog {

        private static final String END = "the log ends here";

        private final ConcurrentLinkedQueue<String> lines = new ConcurrentLinkedQueue<>();
        private final Jedis watching = server.connect();
        private final Thread reader = new Thread(() -> watching.monitor(new JedisMonitor() {
            @Override
            public void onCommand(String line) {
                lines.add(line);
                if (line.contains(END)) {
                    watching.disconnect();
                }
            }
        }));

        ScriptLog() {
            reader.setDaemon(true);
            reader.start();
            awaitUntil(() -> !server.ask(jedis -> jedis.echo("begin")).isEmpty() && !lines.isEmpty());
        }

        /** Checks all that was done so far. Returns the digests of the scripts that were run. */
        Set<String> checked() throws InterruptedException {
            server.ask(jedis -> jedis.echo(END));
            reader.join();
            Map<String, CommandInfo> commands = new TreeMap<>();
            Set<String> digests = new TreeSet<>();
            List<String> call = List.of();
            for (String line : lines) {
                List<String> words =
                        WORD.matcher(line).results().map(word -> word.group(1)).toList();
                if (!line.contains(" lua] ")) {
                    call = words;
                    if (words.get(0).equals("EVALSHA")) {
                        digests.add(words.get(1));
                    }
                } else {
                    CommandInfo command = commands.computeIfAbsent(words.get(0), ScriptLog::info);
                    assertThat(declared(call))
                            .as("keys of %s for %s", call, words)
                            .containsAll(touched(words, command));
                }
            }
            return digests;
        }

        private static CommandInfo info(String command) {
            return server.ask(jedis -> jedis.commandInfo(command))
                    .values()
                    .iterator()
                    .next();
        }

        private static List<String> declared(List<String> call) {
            assertThat(call.get(0)).isIn("EVAL", "EVALSHA");
            return call.subList(3, 3 + Integer.parseInt(call.get(2)));
        }

        private static List<String> touched(List<String> words, CommandInfo command) {
            List<String> keys = new ArrayList<>();
            if (command.getFirstKey() == 0) {
                assertThat(words.get(0)).isIn(WITHOUT_KEYS);
                return keys;
            }
            int last =
                    command.getLastKey() < 0 ? words.size() + (int) command.getLastKey() : (int) command.getLastKey();
            for (int i = (int) command.getFirstKey(); i <= last; i += (int) command.getStep()) {
                keys.add(words.get(i));
            }
            return keys;
        }
    }

    // ---- what a user is allowed ----

    /** An ACL knows nothing of what a script declares, but here the user may touch nothing else than the keys of one lock. */
    @ParameterizedTest
    @EnumSource(Layout.class)
    void userWhoMayTouchTheKeysOfOneLockCanUseIt(Layout layout) {
        server.ask(jedis -> {
            jedis.aclLogReset();
            return jedis.aclSetUser(
                    "of-one",
                    Stream.concat(
                                    Stream.of("reset", "on", ">secret", "+@all", "&*", "~" + tried(layout)),
                                    keys(name, layout).stream().map(key -> "~" + key))
                            .toArray(String[]::new));
        });
        LockStore store = open("of-one:secret@", layout);
        Claim holder = alice.mutex(name);
        granted(store, holder);
        granted(store, holder.again());
        busy(store, bob.mutex(name));
        get(store.renew(List.of(holder)));
        get(store.renew(List.of(holder.withLease(LONG.plusSeconds(1)))));
        assertThat(get(store.inspect(name))).isPresent();
        assertThat(get(store.list(name.value(), 9))).containsExactly(name);
        assertThat(released(store, holder.again())).isTrue();
        assertThat(released(store, holder.again())).isFalse();
        List<AccessControlLogEntry> refused = server.ask(jedis -> jedis.aclLog());
        assertThat(refused).isEmpty();
        LockName ofOthers = new LockName(name + "-of-others");
        granted(open("", layout), bob.mutex(ofOthers));
        assertThat(failure(store.tryAcquire(alice.mutex(ofOthers)))).hasMessageContaining("NOPERM");
        assertThat(failure(store.list(name.value(), 9))).hasMessageContaining("NOPERM");
    }

    private LockStore open(String user, Layout layout) {
        String url = "redis://" + user + "127.0.0.1:" + server.port() + "?layout=" + layout;
        return closing(new RedisLockStoreProvider().open(url, MonotonicClock.SYSTEM));
    }

    /** The key by which a store that is opened tries its connection. */
    private static String tried(Layout layout) {
        return layout == Layout.RECORD ? "holdfast:{holdfast}" : Layout.PLAIN_RECORDS + "try";
    }

    /** All keys of a lock. */
    private static List<String> keys(LockName name, Layout layout) {
        return switch (layout) {
            case RECORD -> List.of("holdfast:{" + name + "}");
            case PLAIN, MIXED, TAIR -> List.of("holdfast:" + name, "holdfast:plain:{holdfast:" + name + "}");
            case TIMESTAMPS -> List.of(name.value(), "holdfast:plain:{" + name + "}");
            case REDISSON ->
                List.of(name.value(), "holdfast:plain:{" + name + "}", "redisson_lock_queue:{" + name + "}");
        };
    }

    /** The digests of all scripts of a layout. */
    private static List<String> digests(Layout layout) {
        Stream<Script> scripts = switch (layout) {
            case RECORD ->
                Stream.of(
                        Script.ACQUIRE,
                        Script.ACQUIRE_AS_NODE,
                        Script.ENQUEUE,
                        Script.RENEW,
                        Script.RELEASE,
                        Script.ACQUIRE_ALL,
                        Script.INSPECT,
                        Script.LIST);
            case PLAIN -> ofForm("string");
            case MIXED, TAIR -> Stream.concat(ofForm("string"), Stream.of(Script.LIST));
            case REDISSON -> ofForm("hash");
            case TIMESTAMPS -> Stream.concat(ofForm("stamp"), Stream.of(new Script("plain-list-held", "stamp")));
        };
        return scripts.map(script -> new String(script.digest(), StandardCharsets.US_ASCII))
                .toList();
    }

    private static Stream<Script> ofForm(String form) {
        return Stream.of("acquire", "renew", "release", "inspect", "list")
                .map(verb -> new Script("plain-" + verb, form));
    }
}
