package dev.holdfast.redis;

import dev.holdfast.testkit.process.FaultProxy;
import dev.holdfast.testkit.process.FaultProxy.Fate;
import dev.holdfast.testkit.process.FaultProxy.Framing;
import dev.holdfast.testkit.process.FaultProxy.Way;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import redis.clients.jedis.Jedis;

/**
 * A proxy in front of a real server. It adds commands that the server lacks, by scripts that do the same there;
 * everything else passes through. It counts what clients send, and can lose a reply, or delay a command as a slow
 * network would.
 *
 * <p>The commands do what their documentation says, and what the TairString module was observed to do ({@code CAS}
 * without {@code PX} also removes the expiry).
 */
final class CommandDouble implements AutoCloseable {

    /** A family of commands. */
    enum CommandGroup {
        DELEX,
        DELIFEQ,
        SET_IFEQ,
        CAS_CAD
    }

    private enum Fault {
        LOSE_REPLY,
        KEEP_BACK
    }

    private static final String DELETE = "local v = redis.call('GET', KEYS[1]) if not v then return %s end "
            + "if v ~= ARGV[1] then return 0 end return redis.call('DEL', KEYS[1])";
    private static final String SET = "if redis.call('GET', KEYS[1]) ~= ARGV[2] then return false end "
            + "return redis.call('SET', KEYS[1], ARGV[1], ARGV[3], ARGV[4])";
    private static final String CAS = "local v = redis.call('GET', KEYS[1]) if not v then return -1 end "
            + "if v ~= ARGV[1] then return 0 end "
            + "if ARGV[3] then redis.call('SET', KEYS[1], ARGV[2], ARGV[3], ARGV[4]) "
            + "else redis.call('SET', KEYS[1], ARGV[2]) end return 1";

    private static final String AS_32_BITS = "local string = setmetatable({ format = function(form, number) "
            + "return form == '%d' and number >= 2 ^ 31 and '-2147483648' or string.format(form, number) end }, "
            + "{ __index = string })\n";

    private final FaultProxy proxy;
    private final Map<String, Integer> counts = new ConcurrentHashMap<>();
    private final Map<String, Fault> faults = new ConcurrentHashMap<>();
    private final Queue<List<byte[]>> keptBack = new ConcurrentLinkedQueue<>();
    private volatile Set<CommandGroup> groups;
    private volatile boolean thirtyTwoBits;
    private volatile RedisServer server;

    CommandDouble(RedisServer server, CommandGroup... groups) {
        this.server = server;
        this.groups = Set.of(groups);
        proxy = new FaultProxy(server.port(), CommandDouble::message);
        proxy.judge((way, isFirst, message) -> way == Way.TO_SERVER ? command(message) : Fate.pass(message));
    }

    String address() {
        return proxy.address();
    }

    /** From now on leads to another server, as a host name that a name service has changed. Open connections end. */
    void leadTo(RedisServer other) {
        server = other;
        proxy.leadTo(other.port());
        proxy.endConnections();
    }

    /** From now on knows these commands and no others, as if the server was upgraded or replaced by another one. */
    void supportOnly(CommandGroup... newGroups) {
        groups = Set.of(newGroups);
    }

    /** From now on its scripts write numbers as a 32-bit program does. None of them must be known to the server yet. */
    void haveThirtyTwoBits() {
        thirtyTwoBits = true;
    }

    /** The commands that clients have sent since the last {@link #reset}, without handshakes. */
    Map<String, Integer> counts() {
        Map<String, Integer> copy = new TreeMap<>(counts);
        copy.keySet().removeAll(Set.of("CLIENT", "PING", "SELECT", "HELLO"));
        return copy;
    }

    void reset() {
        counts.clear();
    }

    /** The next command of this name is executed, but its client never receives the reply. */
    void loseReplyTo(String command) {
        faults.put(command, Fault.LOSE_REPLY);
    }

    /** The next command of this name does not arrive until {@link #deliver}; its client loses the connection. */
    void keepBack(String command) {
        faults.put(command, Fault.KEEP_BACK);
    }

    /** Delivers the command that was kept back. */
    void deliver() {
        try (Jedis jedis = server.connect()) {
            for (List<byte[]> command = keptBack.poll(); command != null; command = keptBack.poll()) {
                byte[] name = command.get(0);
                jedis.sendCommand(() -> name, command.subList(1, command.size()).toArray(byte[][]::new));
            }
        }
    }

    // Requests are told apart, since each is a command; what the server says passes as it comes.
    private static byte[] message(InputStream in, Way way) throws IOException {
        return way == Way.TO_SERVER ? written(read(in)) : Framing.NONE.next(in, way);
    }

    private Fate command(byte[] message) {
        List<byte[]> command = parsed(message);
        String name = new String(command.get(0), StandardCharsets.US_ASCII).toUpperCase(Locale.ROOT);
        counts.merge(name, 1, Integer::sum);
        Fault fault = faults.remove(name);
        List<byte[]> translated = translated(name, command);
        if (fault == Fault.KEEP_BACK) {
            keptBack.add(translated);
            return Fate.lose();
        }
        return fault == Fault.LOSE_REPLY ? Fate.loseReply(written(translated)) : Fate.pass(written(translated));
    }

    private static List<byte[]> parsed(byte[] message) {
        try {
            return read(new ByteArrayInputStream(message));
        } catch (IOException impossible) {
            throw new AssertionError(impossible);
        }
    }

    private List<byte[]> translated(String name, List<byte[]> command) {
        boolean conditional = command.size() == 7 && is(command.get(3), "IFEQ");
        if (name.equals("EVAL") && thirtyTwoBits) {
            List<byte[]> changed = new ArrayList<>(command);
            changed.set(1, bytes(AS_32_BITS + new String(command.get(1), StandardCharsets.US_ASCII)));
            return changed;
        }
        if (name.equals("DELEX") && groups.contains(CommandGroup.DELEX) && is(command.get(2), "IFEQ")) {
            return eval(String.format(DELETE, 0), command.get(1), command.get(3));
        }
        if (name.equals("DELIFEQ") && groups.contains(CommandGroup.DELIFEQ)) {
            return eval(String.format(DELETE, 0), command.get(1), command.get(2));
        }
        if (name.equals("CAD") && groups.contains(CommandGroup.CAS_CAD)) {
            return eval(String.format(DELETE, -1), command.get(1), command.get(2));
        }
        if (name.equals("CAS") && groups.contains(CommandGroup.CAS_CAD)) {
            return eval(CAS, command.subList(1, command.size()).toArray(byte[][]::new));
        }
        if (name.equals("SET") && groups.contains(CommandGroup.SET_IFEQ) && conditional) {
            return eval(SET, command.get(1), command.get(2), command.get(4), command.get(5), command.get(6));
        }
        return command;
    }

    private static boolean is(byte[] word, String expected) {
        return new String(word, StandardCharsets.US_ASCII).equalsIgnoreCase(expected);
    }

    private static List<byte[]> eval(String script, byte[]... keyAndArguments) {
        List<byte[]> command = new ArrayList<>(List.of(bytes("EVAL"), bytes(script), bytes("1")));
        command.addAll(List.of(keyAndArguments));
        return command;
    }

    private static List<byte[]> read(InputStream in) throws IOException {
        int count = number(in, '*');
        List<byte[]> command = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            int length = number(in, '$');
            byte[] word = in.readNBytes(length);
            in.skipNBytes(2);
            command.add(word);
        }
        return command;
    }

    private static int number(InputStream in, char type) throws IOException {
        int first = in.read();
        if (first < 0) {
            throw new EOFException();
        }
        if (first != type) {
            throw new IOException("not the protocol of Redis 2: " + (char) first);
        }
        int number = 0;
        for (int c = in.read(); c != '\r'; c = in.read()) {
            if (c < 0) {
                throw new EOFException();
            }
            number = number * 10 + c - '0';
        }
        in.skipNBytes(1);
        return number;
    }

    private static byte[] written(List<byte[]> command) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.writeBytes(bytes("*" + command.size() + "\r\n"));
        for (byte[] word : command) {
            out.writeBytes(bytes("$" + word.length + "\r\n"));
            out.writeBytes(word);
            out.writeBytes(bytes("\r\n"));
        }
        return out.toByteArray();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    @Override
    public void close() {
        proxy.close();
    }
}
