package dev.holdfast.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.testkit.StoreTest;
import dev.holdfast.testkit.process.FaultProxy;
import dev.holdfast.testkit.process.FaultProxy.Fate;
import dev.holdfast.testkit.process.FaultProxy.Way;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * A proxy between a client and a server of ZooKeeper, which knows their packets. It counts requests by kind, delays all messages
 * or keeps replies back, and can break the connection at a chosen request, before or after the server receives it.
 */
public final class Proxy implements AutoCloseable {

    /** What the proxy does with a request. */
    enum Action {
        /** The request is forwarded. */
        PASS,
        /** The connection breaks, and the server does not receive the request. */
        CUT_BEFORE,
        /** The server receives the request, and the connection breaks before its reply arrives. */
        CUT_AFTER
    }

    private static final Map<Integer, String> KINDS = Map.ofEntries(
            Map.entry(1, "create"),
            Map.entry(2, "delete"),
            Map.entry(3, "exists"),
            Map.entry(4, "getData"),
            Map.entry(5, "setData"),
            Map.entry(8, "getChildren"),
            Map.entry(9, "sync"),
            Map.entry(12, "getChildren"),
            Map.entry(14, "multi"),
            Map.entry(15, "create2"),
            Map.entry(17, "checkWatches"),
            Map.entry(18, "removeWatches"),
            Map.entry(19, "createContainer"),
            Map.entry(103, "getEphemerals"),
            Map.entry(-11, "closeSession"));

    private final FaultProxy proxy;
    private final Map<String, Integer> counts = new HashMap<>();
    private volatile Function<String, Action> actions = kind -> Action.PASS;
    private long replyBytes;

    Proxy(String hosts) {
        proxy = new FaultProxy(Integer.parseInt(hosts.substring(hosts.lastIndexOf(':') + 1)), Proxy::packet);
        proxy.judge(this::judge);
    }

    public String hosts() {
        return proxy.address();
    }

    /** Delays all messages by this time in each direction. */
    void delay(Duration oneWay) {
        proxy.delay(oneWay);
    }

    /** Keeps all replies back, so that whatever is requested now is requested before any reply. */
    void holdReplies() {
        proxy.silence(Way.TO_CLIENT);
    }

    void letReplies() {
        proxy.heal();
    }

    /**
     * Sees that a call sends these requests at once, and no others: no reply passes before all of them have come, however slow
     * this machine is.
     */
    <T> T inOneRoundTrip(Supplier<CompletionStage<T>> call, Map<String, Integer> requests) {
        T answer = afterOneRoundTrip(call, requests);
        assertThat(counts()).isEqualTo(requests);
        return answer;
    }

    /** The same of a call that may send others when it has the first replies. */
    <T> T afterOneRoundTrip(Supplier<CompletionStage<T>> call, Map<String, Integer> first) {
        reset();
        holdReplies();
        CompletionStage<T> answer = call.get();
        StoreTest.awaitUntil(() -> counts().equals(first), "expected " + first);
        letReplies();
        return StoreTest.get(answer);
    }

    /**
     * Sees that a call sends these requests in two round trips: all those of the second one come before any reply to them.
     *
     * @param second the kind of the first request of the second round trip, which the first round trip does not have
     * @param all the requests of both round trips
     */
    <T> T inTwoRoundTrips(
            Supplier<CompletionStage<T>> call, Map<String, Integer> first, String second, Map<String, Integer> all) {
        reset();
        holdReplies();
        CompletionStage<T> answer = call.get();
        StoreTest.awaitUntil(() -> counts().equals(first), "expected " + first);
        onRequest(kind -> {
            if (kind.equals(second)) {
                holdReplies();
            }
            return Action.PASS;
        });
        letReplies();
        StoreTest.awaitUntil(() -> counts().equals(all), "expected " + all);
        onRequest(kind -> Action.PASS);
        letReplies();
        T answered = StoreTest.get(answer);
        assertThat(counts()).isEqualTo(all);
        return answered;
    }

    /** Sets what the proxy does with requests from now on, by their kind. */
    void onRequest(Function<String, Action> what) {
        actions = what;
    }

    /** Breaks all connections, and accepts no new ones until {@link #resume}. */
    public void cut() {
        proxy.refuse();
    }

    void resume() {
        proxy.heal();
    }

    synchronized void reset() {
        counts.clear();
        replyBytes = 0;
    }

    /** The number of requests of each kind, without the client's pings. */
    synchronized Map<String, Integer> counts() {
        return new TreeMap<>(counts);
    }

    /** The number of all requests. */
    synchronized int total() {
        return counts.values().stream().mapToInt(Integer::intValue).sum();
    }

    /** The size of all replies. */
    synchronized long replyBytes() {
        return replyBytes;
    }

    private synchronized void requested(String kind) {
        counts.merge(kind, 1, Integer::sum);
    }

    private synchronized void answered(int bytes) {
        replyBytes += bytes;
    }

    /** A packet is its length and so many bytes. */
    private static byte[] packet(InputStream in, Way way) throws IOException {
        DataInputStream data = new DataInputStream(in);
        int length = data.readInt();
        ByteBuffer packet = ByteBuffer.allocate(Integer.BYTES + length).putInt(length);
        data.readFully(packet.array(), Integer.BYTES, length);
        return packet.array();
    }

    // Neither the greeting counts, which is first, nor pings, watches and logins, whose numbers are negative.
    private Fate judge(Way way, boolean isFirst, byte[] packet) {
        ByteBuffer header = ByteBuffer.wrap(packet, Integer.BYTES, packet.length - Integer.BYTES);
        if (isFirst || header.getInt() < 0) {
            return Fate.pass(packet);
        }
        if (way == Way.TO_CLIENT) {
            answered(packet.length - Integer.BYTES);
            return Fate.pass(packet);
        }
        String kind = KINDS.getOrDefault(header.getInt(), "other");
        Action action = actions.apply(kind);
        requested(kind);
        return switch (action) {
            case PASS -> Fate.pass(packet);
            case CUT_BEFORE -> Fate.lose();
            case CUT_AFTER -> Fate.loseReply(packet);
        };
    }

    @Override
    public void close() {
        proxy.close();
    }

    /** Expected counts by kind of request, to compare with {@link #counts}. */
    static Map<String, Integer> only(Object... kindsAndNumbers) {
        Map<String, Integer> map = new TreeMap<>();
        for (int i = 0; i < List.of(kindsAndNumbers).size(); i += 2) {
            map.put((String) kindsAndNumbers[i], (Integer) kindsAndNumbers[i + 1]);
        }
        return map;
    }
}
