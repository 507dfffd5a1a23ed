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
 * The best commands that the server has for "delete this string if it is still the same" and "prolong this string
 * if it is still the same". They are tried once, remembered, and tried again after the server has answered that it
 * does not know one. The version of the server is not asked for, because the relatives of Redis have version
 * numbers of their own. Thread-safe.
 */
final class PlainCommands {

    private static final byte[] IFEQ = ascii("IFEQ");
    private static final byte[] PX = ascii("PX");
    private static final byte[] OK = ascii("OK");

    /** The commands to delete with, of which a server may have some. */
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

    /** The commands to prolong with, of which a server may have some. */
    enum Prolong {
        /** Redis 8.4, Valkey 8.1. */
        SET_IFEQ,
        /**
         * Tair, and servers with the TairString module. It is always sent with PX: without PX the string would have
         * no end.
         */
        CAS;

        ServerCall call(byte[] key, byte[] text, long millis) {
            return this == CAS
                    ? ServerCall.command(name(), key, text, text, PX, ServerCall.number(millis))
                    : ServerCall.command("SET", key, text, IFEQ, text, PX, ServerCall.number(millis));
        }
    }

    private final RedisPort port;
    private final List<Delete> deletes;
    private final List<Prolong> prolongs;

    /** The command that deletes; null stands for a script. */
    private volatile @Nullable Delete delete;

    /** The command that prolongs; null stands for a script. */
    private volatile @Nullable Prolong prolong;

    private volatile boolean mustBeFound;

    /** For a layout: Tair's commands come first on Tair, and no server has commands for other forms than strings. */
    PlainCommands(RedisPort port, Layout layout) {
        this.port = port;
        boolean strings = layout.isOfStrings();
        this.deletes = switch (layout) {
            case TAIR -> List.of(Delete.CAD, Delete.DELEX, Delete.DELIFEQ);
            default -> strings ? List.of(Delete.DELEX, Delete.DELIFEQ, Delete.CAD) : List.of();
        };
        this.prolongs = switch (layout) {
            case TAIR -> List.of(Prolong.CAS, Prolong.SET_IFEQ);
            default -> strings ? List.of(Prolong.SET_IFEQ, Prolong.CAS) : List.of();
        };
        this.mustBeFound = strings;
    }

    /** Tries all commands in one flush. If the server cannot be reached, the scripts are used. */
    CompletionStage<Void> find() {
        int slot = port.isCluster() ? HashSlot.of(PlainRedisLockStore.PROBE_KEY) : 0;
        List<ServerCall> calls = new ArrayList<>();
        deletes.forEach(candidate -> calls.add(candidate
                .call(PlainRedisLockStore.PROBE_KEY, PlainRedisLockStore.PROBE_KEY)
                .inSlot(slot)));
        prolongs.forEach(candidate -> calls.add(candidate
                .call(PlainRedisLockStore.PROBE_KEY, PlainRedisLockStore.PROBE_KEY, 1)
                .inSlot(slot)));
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

    /** The call that deletes a string if it has this text; null if only a script can do that. */
    @Nullable
    ServerCall delete(byte[] stringKey, byte[] text) {
        Delete command = delete;
        return command == null ? null : command.call(stringKey, text);
    }

    /** The call that prolongs a string if it has this text; null if only a script can do that. */
    @Nullable
    ServerCall prolong(byte[] stringKey, byte[] text, long millis) {
        Prolong command = prolong;
        return command == null ? null : command.call(stringKey, text, millis);
    }

    boolean canProlong() {
        return prolong != null;
    }

    /** Whether the server has any of the commands, so that the strings of grants must be remembered. */
    boolean isAnyKnown() {
        return delete != null || prolong != null;
    }

    /**
     * Forgets the commands, because the server has answered that it does not know one, so it is another server now.
     * Only scripts are used until the next {@link #find}.
     */
    void forget() {
        delete = null;
        prolong = null;
        mustBeFound = true;
    }

    /** Whether {@link #find} must be called before the next call. */
    boolean mustBeFound() {
        return mustBeFound;
    }

    /** The commands that are used, for people and tests. */
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
        throw StoreException.unavailable(Effect.UNKNOWN, "A command returned an unexpected reply", null);
    }

    private static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }
}
