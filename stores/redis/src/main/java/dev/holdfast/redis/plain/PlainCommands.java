package dev.holdfast.redis.plain;

import dev.holdfast.redis.client.HashSlot;
import dev.holdfast.redis.client.RedisPort;
import dev.holdfast.redis.client.ServerCall;
import dev.holdfast.redis.client.ServerCall.NotKnown;
import dev.holdfast.redis.config.Layout;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The best commands that the server has for "delete this string if it is still the same" and "prolong this string if it is still
 * the same": tried once, remembered, and tried again after the server has said that it does not know one. Versions are not
 * asked for, because the relatives of Redis have numbers of their own. Thread-safe.
 */
final class PlainCommands {

    private static final byte[] IFEQ = ascii("IFEQ");
    private static final byte[] PX = ascii("PX");
    private static final byte[] OK = ascii("OK");

    /** What a server may have to delete with. */
    enum Delete {
        /** Redis 8.4, Valkey 9.2, Dragonfly 1.37. */
        DELEX,
        /** Valkey 9.0. */
        DELIFEQ,
        /** Tair, and servers with the TairString module. */
        CAD;

        ServerCall call(byte[] key, byte[] text) {
            return this == DELEX ? ServerCall.command(name(), key, IFEQ, text) : ServerCall.command(name(), key, text);
        }
    }

    /** What a server may have to prolong with. */
    enum Prolong {
        /** Redis 8.4, Valkey 8.1. */
        SET_IFEQ,
        /** Tair, and servers with the TairString module. Always with PX: without it the string would have no end. */
        CAS;

        ServerCall call(byte[] key, byte[] text, long millis) {
            return this == CAS
                    ? ServerCall.command(name(), key, text, text, PX, ServerCall.number(millis))
                    : ServerCall.command("SET", key, text, IFEQ, text, PX, ServerCall.number(millis));
        }
    }

    /** The key of a string that is never there, to try commands on. */
    private static final byte[] NOWHERE = ascii(Layout.PLAIN_RECORDS + "try");

    private final RedisPort port;
    private final List<Delete> deletes;
    private final List<Prolong> prolongs;

    /** What is used; null stands for a script. */
    private volatile @Nullable Delete delete;

    private volatile @Nullable Prolong prolong;

    private volatile boolean mustBeFound = true;

    /** @param tair whether Tair's commands come first */
    PlainCommands(RedisPort port, boolean tair) {
        this.port = port;
        this.deletes = tair
                ? List.of(Delete.CAD, Delete.DELEX, Delete.DELIFEQ)
                : List.of(Delete.DELEX, Delete.DELIFEQ, Delete.CAD);
        this.prolongs = tair ? List.of(Prolong.CAS, Prolong.SET_IFEQ) : List.of(Prolong.SET_IFEQ, Prolong.CAS);
    }

    /** Tries all commands in one flush. What cannot be found out, because the server is away, is left to the scripts. */
    CompletionStage<Void> find() {
        int slot = port.isCluster() ? HashSlot.of(NOWHERE) : 0;
        List<ServerCall> calls = new ArrayList<>();
        deletes.forEach(candidate -> calls.add(candidate.call(NOWHERE, NOWHERE).inSlot(slot)));
        prolongs.forEach(
                candidate -> calls.add(candidate.call(NOWHERE, NOWHERE, 1).inSlot(slot)));
        return port.<@Nullable Object>runAll(calls, replies -> {
                    mustBeFound = replies.stream().anyMatch(PlainCommands::isPassing);
                    delete = known(deletes, replies.subList(0, deletes.size()));
                    prolong = known(prolongs, replies.subList(deletes.size(), replies.size()));
                    return null;
                })
                .handle((done, failure) -> null);
    }

    private static boolean isPassing(Object reply) {
        return reply instanceof StoreException failure && failure.retryable();
    }

    private static <C> @Nullable C known(List<C> candidates, List<?> replies) {
        for (int i = 0; i < candidates.size(); i++) {
            if (!(replies.get(i) instanceof NotKnown) && !(replies.get(i) instanceof StoreException)) {
                return candidates.get(i);
            }
        }
        return null;
    }

    /** Deletes a string if it is this one; null if that takes a script. */
    @Nullable
    ServerCall delete(byte[] stringKey, byte[] text) {
        Delete command = delete;
        return command == null ? null : command.call(stringKey, text);
    }

    /** Prolongs a string if it is this one; null if that takes a script. */
    @Nullable
    ServerCall prolong(byte[] stringKey, byte[] text, long millis) {
        Prolong command = prolong;
        return command == null ? null : command.call(stringKey, text, millis);
    }

    boolean canProlong() {
        return prolong != null;
    }

    /** Whether there is anything for which a grant's string must be known. */
    boolean isAnyKnown() {
        return delete != null || prolong != null;
    }

    /** The server has said that it does not know a command: it is another one now. Until {@link #find}, all is left to scripts. */
    void forget() {
        delete = null;
        prolong = null;
        mustBeFound = true;
    }

    /** Whether it is time to {@link #find} again. */
    boolean mustBeFound() {
        return mustBeFound;
    }

    /** What a server uses, for people and tests. */
    String names() {
        Delete deleting = delete;
        Prolong prolonging = prolong;
        return (deleting == null ? "script" : deleting.name()) + " and "
                + (prolonging == null ? "script" : prolonging.name());
    }

    /** Whether a command has found the string and done its work. */
    static boolean isDone(@Nullable Object reply) {
        if (reply == null || reply instanceof NotKnown) {
            return false;
        }
        if (reply instanceof Long number && number >= -1 && number <= 1) {
            return number == 1;
        }
        if (reply instanceof byte[] text && Arrays.equals(text, OK)) {
            return true;
        }
        throw StoreException.unavailable(Effect.UNKNOWN, "A command was answered in a way that it never is", null);
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
