package dev.holdfast.redis.record;

import dev.holdfast.redis.client.HashSlot;
import dev.holdfast.redis.client.Script;
import dev.holdfast.redis.client.ServerCall;
import dev.holdfast.redis.config.RedisOptions;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.NodeAttempt;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Makes calls of scripts from claims: adds their keys, the caller's channel and, on a cluster, the slot. */
public final class ScriptCalls {

    /**
     * The most claims of one script call. It takes some tenths of a millisecond, during which other clients of the
     * server wait.
     */
    public static final int BATCH = 256;

    /**
     * The number of arguments that every script has: one, with the caller's channel and the times that the options
     * set.
     */
    private static final int CONTEXT = 1;

    private final LockKeys keys;
    private final RedisOptions options;
    private final boolean cluster;
    private final WaiterChannels channels;
    private final String times;
    private final byte[] contextOfNoChannel;
    private volatile byte @Nullable [] contextOfOnlyChannel;

    public ScriptCalls(LockKeys keys, RedisOptions options, boolean cluster, WaiterChannels channels) {
        this.keys = keys;
        this.options = options;
        this.cluster = cluster;
        this.channels = channels;
        this.times = " " + ClaimArguments.millis(options.ticketTtl()) + ' ' + ClaimArguments.millis(options.keep());
        this.contextOfNoChannel = (WaiterChannels.NONE + times).getBytes(StandardCharsets.UTF_8);
    }

    /** A part of a batch: the indices of its claims, and the call that renews them. */
    public record Part(List<Integer> claims, ServerCall call) {}

    /** The slot of a name; 0 if the server is not a cluster. */
    public int slot(LockName name) {
        return cluster ? HashSlot.of(keys.key(name)) : 0;
    }

    // A client that has never waited sends no channel. Without a cluster there is only one, whose context is kept.
    private byte[] context(int slot) {
        String channel = channels.name(slot);
        if (channel.equals(WaiterChannels.NONE)) {
            return contextOfNoChannel;
        }
        byte[] known = contextOfOnlyChannel;
        if (known != null) {
            return known;
        }
        byte[] made = (channel + times).getBytes(StandardCharsets.UTF_8);
        contextOfOnlyChannel = cluster ? null : made;
        return made;
    }

    /** A call about one claim, which may grant it. */
    public ServerCall one(Script script, Claim claim) {
        byte[][] arguments = new byte[1 + CONTEXT + ClaimArguments.FIELDS][];
        ClaimArguments.put(arguments, 1 + CONTEXT, claim);
        return acknowledged(addressed(script, claim.name(), arguments));
    }

    /**
     * A call that acquires as one node of a quorum.
     *
     * @param counter the counter that the caller would like
     * @param raise whether another node has given this counter to the claim
     */
    public ServerCall asNode(Claim claim, long counter, boolean raise) {
        byte[][] arguments = new byte[2 + CONTEXT + ClaimArguments.FIELDS + 3][];
        arguments[0] = keys.key(claim.name());
        arguments[1] = keys.mark();
        arguments[2] = context(0);
        ClaimArguments.put(arguments, 2 + CONTEXT, claim);
        int at = 2 + CONTEXT + ClaimArguments.FIELDS;
        arguments[at] = ServerCall.number(counter);
        arguments[at + 1] = ServerCall.number(NodeAttempt.CLOCK_TOLERANCE.toNanos() / 1_000);
        arguments[at + 2] = ClaimArguments.flag(raise);
        return acknowledged(new ServerCall(Script.ACQUIRE_AS_NODE, 2, arguments));
    }

    /** A call about several claims in the same slot, which may grant them. */
    public ServerCall several(Script script, List<Claim> claims) {
        int count = claims.size();
        int slot = slot(claims.get(0).name());
        byte[][] arguments = new byte[count + CONTEXT + count * ClaimArguments.FIELDS][];
        arguments[count] = context(slot);
        for (int i = 0; i < count; i++) {
            arguments[i] = keys.key(claims.get(i).name());
            ClaimArguments.put(arguments, count + CONTEXT + i * ClaimArguments.FIELDS, claims.get(i));
        }
        return acknowledged(new ServerCall(script, count, arguments).inSlot(slot));
    }

    /** The calls that renew a batch. Claims in different slots cannot be in the same call. */
    public List<Part> renewals(List<Claim> batch) {
        return renewals(batch, BATCH);
    }

    /** The calls that renew a batch, with at most this many claims each. */
    List<Part> renewals(List<Claim> batch, int most) {
        Map<Integer, List<Integer>> bySlot = new LinkedHashMap<>();
        for (int i = 0; i < batch.size(); i++) {
            bySlot.computeIfAbsent(slot(batch.get(i).name()), slot -> new ArrayList<>())
                    .add(i);
        }
        List<Part> parts = new ArrayList<>();
        for (List<Integer> indices : bySlot.values()) {
            for (int from = 0; from < indices.size(); from += most) {
                List<Integer> part = indices.subList(from, Math.min(indices.size(), from + most));
                ServerCall call =
                        several(Script.RENEW, part.stream().map(batch::get).toList());
                parts.add(new Part(part, call));
            }
        }
        return parts;
    }

    // Replicas need not acknowledge a release: if it is lost, the lock only stays held until its lease ends.
    public ServerCall release(Claim claim) {
        return claim.repeated() ? release(claim, true) : release(claim, new byte[4][]);
    }

    /** A release after which the claim may be asked for once more: it leaves no tombstone. */
    ServerCall undo(Claim claim) {
        return release(claim, false);
    }

    private ServerCall release(Claim claim, boolean leavesTombstone) {
        byte[][] arguments = new byte[5][];
        arguments[4] = ClaimArguments.flag(leavesTombstone);
        return release(claim, arguments);
    }

    private ServerCall release(Claim claim, byte[][] arguments) {
        arguments[2] = ClaimArguments.id(claim.id());
        arguments[3] = ServerCall.number(ClaimArguments.millis(claim.lease()));
        return addressed(Script.RELEASE, claim.name(), arguments);
    }

    public ServerCall inspect(LockName name) {
        return addressed(Script.INSPECT, name, new byte[1 + CONTEXT][]);
    }

    private ServerCall addressed(Script script, LockName name, byte[][] arguments) {
        byte[] key = keys.key(name);
        int slot = cluster ? HashSlot.of(key) : 0;
        arguments[0] = key;
        arguments[1] = context(slot);
        return new ServerCall(script, 1, arguments).inSlot(slot);
    }

    private ServerCall acknowledged(ServerCall call) {
        return call.acknowledged(options.replicas(), options.replicaTimeout());
    }
}
