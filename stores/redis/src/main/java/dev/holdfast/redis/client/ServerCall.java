package dev.holdfast.redis.client;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** One call of a script, or of a single command, with its keys and its other arguments. */
public final class ServerCall {

    /** How many keys a message names. A lock has no more. */
    private static final int NAMED = 3;

    private static final byte[] ONE = {'1'};
    private static final byte[] MATCH = "MATCH".getBytes(StandardCharsets.US_ASCII);
    private static final byte[] COUNT = "COUNT".getBytes(StandardCharsets.US_ASCII);

    private final @Nullable Script script;
    private final @Nullable String command;
    private final int keys;
    private final byte[][] arguments;
    private final int slot;
    private final int replicas;
    private final Duration replicaTimeout;

    /**
     * Stands for the reply of a server that does not know a command, or does not allow it. The command had no
     * effect.
     */
    public enum NotKnown {
        NOT_KNOWN
    }

    /**
     * @param script the script
     * @param keys how many of the arguments are keys; the keys come first
     * @param arguments keys and arguments; callers must not change them afterwards
     */
    public ServerCall(Script script, int keys, byte[][] arguments) {
        this(script, null, keys, arguments, 0, 0, Duration.ZERO);
    }

    /**
     * A call of a command that the server may not know; the reply is {@link NotKnown#NOT_KNOWN} then.
     *
     * @param command its name
     * @param arguments a key, and then the other arguments; callers must not change them afterwards
     */
    public static ServerCall command(String command, byte[]... arguments) {
        return new ServerCall(null, command, 1, arguments, 0, 0, Duration.ZERO);
    }

    /**
     * A step of a search for keys. The reply is the next cursor, which is 0 at the end, and a list of keys.
     *
     * @param cursor 0 at first
     * @param pattern a glob pattern of the keys
     * @param count how many keys the server examines
     */
    public static ServerCall search(byte[] cursor, byte[] pattern, int count) {
        byte[][] arguments = {cursor, MATCH, pattern, COUNT, number(count)};
        return new ServerCall(null, "SCAN", 0, arguments, 0, 0, Duration.ZERO);
    }

    /** A number as an argument. Callers must not change the array. */
    public static byte[] number(long number) {
        return number == 1 ? ONE : Long.toString(number).getBytes(StandardCharsets.US_ASCII);
    }

    private ServerCall(
            @Nullable Script script,
            @Nullable String command,
            int keys,
            byte[][] arguments,
            int slot,
            int replicas,
            Duration replicaTimeout) {
        this.script = script;
        this.command = command;
        this.keys = keys;
        this.arguments = arguments;
        this.slot = slot;
        this.replicas = replicas;
        this.replicaTimeout = replicaTimeout;
    }

    /** The same call, for the node of a cluster that serves this slot. All keys of the call must be in the slot. */
    public ServerCall inSlot(int number) {
        return new ServerCall(script, command, keys, arguments, number, replicas, replicaTimeout);
    }

    /**
     * The same call, which this many replicas must acknowledge within this time. No replica is asked if the number
     * is 0.
     */
    public ServerCall acknowledged(int number, Duration limit) {
        return number == 0 ? this : new ServerCall(script, command, keys, arguments, slot, number, limit);
    }

    /** The script. Must not be called if this is a call of a {@link #command}, which has no script. */
    public Script script() {
        return Objects.requireNonNull(script, "a command has no script");
    }

    /** The name of the command to send; null if this is a call of a script. */
    public @Nullable String command() {
        return command;
    }

    /**
     * Whether an error of the server means that it does not know this command, or this form of it, or does not
     * allow it, and another way to do the same is expected of the caller. There is none for a search.
     */
    public boolean isNotKnown(String error) {
        return command != null
                && keys > 0
                && (error.contains("unknown command")
                        || error.contains("syntax error")
                        || error.contains("wrong number of arguments")
                        || (error.contains("NOPERM") && error.contains("command")));
    }

    /** How many of the arguments are keys. */
    public int keys() {
        return keys;
    }

    /** The keys, and then the other arguments. Callers must not change the array. */
    public byte[][] arguments() {
        return arguments;
    }

    /** The hash slot whose node is asked; 0 if the servers of the port are not a cluster. */
    public int slot() {
        return slot;
    }

    /** How many replicas must acknowledge what the script has written; 0 if no replica is asked. */
    public int replicas() {
        return replicas;
    }

    /** How long the replicas may take. */
    public Duration replicaTimeout() {
        return replicaTimeout;
    }

    /** The keys that this call concerns, for messages. */
    public String subject() {
        return keys == 0 ? "all names" : subject(Arrays.copyOf(arguments, keys));
    }

    /** These keys, for messages: the first ones, and how many more there are. */
    public static String subject(byte[]... all) {
        String first = Arrays.stream(all)
                .limit(NAMED)
                .map(key -> new String(key, StandardCharsets.UTF_8))
                .collect(Collectors.joining(" and "));
        return all.length > NAMED ? first + " and " + (all.length - NAMED) + " more" : first;
    }
}
