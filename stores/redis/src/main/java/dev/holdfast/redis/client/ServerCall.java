package dev.holdfast.redis.client;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** One call of a script, or of a single command: what it is about, and with which arguments. */
public final class ServerCall {

    private static final byte[] ONE = {'1'};

    private final @Nullable Script script;
    private final @Nullable String command;
    private final int keys;
    private final byte[][] arguments;
    private final int slot;
    private final int replicas;
    private final Duration replicaTimeout;

    /** Stands for the reply of a server that does not know a command, or does not allow it. It had no effect. */
    public enum NotKnown {
        NOT_KNOWN
    }

    /**
     * @param script the script
     * @param keys how many of the arguments are keys; they come first
     * @param arguments keys and arguments; not to be changed afterwards
     */
    public ServerCall(Script script, int keys, byte[][] arguments) {
        this(script, null, keys, arguments, 0, 0, Duration.ZERO);
    }

    /**
     * A call of a command that the server may not know; the answer is {@link NotKnown#NOT_KNOWN} then.
     *
     * @param command its name
     * @param arguments a key, and then the other arguments; not to be changed afterwards
     */
    public static ServerCall command(String command, byte[]... arguments) {
        return new ServerCall(null, command, 1, arguments, 0, 0, Duration.ZERO);
    }

    /** A number as an argument. Not to be changed. */
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

    /** The same call, for the node of a cluster that serves this slot. All its keys are in it. */
    public ServerCall inSlot(int number) {
        return new ServerCall(script, command, keys, arguments, number, replicas, replicaTimeout);
    }

    /** The same call, that is to be acknowledged by so many replicas, in this time. None are asked if the number is 0. */
    public ServerCall acknowledged(int number, Duration limit) {
        return number == 0 ? this : new ServerCall(script, command, keys, arguments, slot, number, limit);
    }

    /** The script; there is none if this is a call of a {@link #command}. */
    public Script script() {
        return Objects.requireNonNull(script, "a command has no script");
    }

    /** The name of the command to send; null if this is a call of a script. */
    public @Nullable String command() {
        return command;
    }

    /** Whether an error of the server's means that it does not know this command, or this form of it, or does not allow it. */
    public boolean isNotKnown(String error) {
        return command != null
                && (error.contains("unknown command")
                        || error.contains("syntax error")
                        || error.contains("wrong number of arguments")
                        || (error.contains("NOPERM") && error.contains("command")));
    }

    /** How many of the arguments are keys. */
    public int keys() {
        return keys;
    }

    /** The keys, and then the other arguments. Not to be changed. */
    public byte[][] arguments() {
        return arguments;
    }

    /** The hash slot whose node is asked; 0 if the port's servers are no cluster. */
    public int slot() {
        return slot;
    }

    /** How many replicas must acknowledge what the script has written; 0 if none is asked. */
    public int replicas() {
        return replicas;
    }

    /** How long they may take. */
    public Duration replicaTimeout() {
        return replicaTimeout;
    }

    /** What it is about, for messages. */
    public String subject() {
        return keys == 0
                ? "all names"
                : new String(arguments[0], StandardCharsets.UTF_8) + (keys > 1 ? " and " + (keys - 1) + " more" : "");
    }
}
