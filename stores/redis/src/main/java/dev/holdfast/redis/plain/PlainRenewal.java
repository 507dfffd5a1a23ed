package dev.holdfast.redis.plain;

import dev.holdfast.redis.client.RedisPort;
import dev.holdfast.redis.client.Replies;
import dev.holdfast.redis.client.ServerCall;
import dev.holdfast.redis.client.ServerCall.NotKnown;
import dev.holdfast.redis.client.ServerError;
import dev.holdfast.redis.plain.PlainGrants.Grant;
import dev.holdfast.redis.record.ClaimArguments;
import dev.holdfast.redis.record.ScriptCalls;
import dev.holdfast.redis.record.ScriptReply;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.function.ToIntFunction;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * One batch of renewals in the plain layout: a single command for each string that is known and stays the same,
 * scripts for the rest, all in one flush. If a command did not find its string, or failed, its claim goes to a
 * script in a second flush, because only the script can find out why. So do claims whose keys are at two nodes, because
 * their slot is being moved, each on its own: a node may have both keys of one of them. The answers to the second flush
 * are final.
 */
final class PlainRenewal {

    /** How many numbers the script returns for each claim. */
    private static final int NUMBERS = 5;

    private final RedisPort port;
    private final PlainKeys keys;
    private final PlainCommands commands;
    private final PlainGrants grants;
    private final Function<List<Claim>, ServerCall> script;
    private final ToIntFunction<LockName> slots;
    private final List<Claim> batch;
    private final Renewed[] answers;

    /**
     * @param script makes the call that renews claims in one slot
     * @param slots the slot of a name
     */
    PlainRenewal(
            RedisPort port,
            PlainKeys keys,
            PlainCommands commands,
            PlainGrants grants,
            Function<List<Claim>, ServerCall> script,
            ToIntFunction<LockName> slots,
            List<Claim> batch) {
        this.port = port;
        this.keys = keys;
        this.commands = commands;
        this.grants = grants;
        this.script = script;
        this.slots = slots;
        this.batch = batch;
        this.answers = new Renewed[batch.size()];
    }

    /** A call, and the indices of its claims in the batch. A command has one claim, and the grant that it renews. */
    private record Sent(
            ServerCall call, List<Integer> claims, @Nullable Grant grant) {}

    /** Renews all claims by scripts, in one flush. */
    CompletionStage<List<Renewed>> byScripts() {
        return run(scripts(IntStream.range(0, batch.size()).boxed().toList(), ScriptCalls.BATCH));
    }

    CompletionStage<List<Renewed>> run() {
        List<Sent> calls = new ArrayList<>();
        List<Integer> forScripts = new ArrayList<>();
        for (int i = 0; i < batch.size(); i++) {
            Claim claim = batch.get(i);
            Grant grant = commands.canProlong() ? grants.renewedBy(claim) : null;
            ServerCall call = grant == null
                    ? null
                    : commands.prolong(keys.lock(claim.name()), grant.text(), ClaimArguments.millis(claim.lease()));
            if (call == null) {
                forScripts.add(i);
            } else {
                calls.add(new Sent(call.inSlot(slots.applyAsInt(claim.name())), List.of(i), grant));
            }
        }
        calls.addAll(scripts(forScripts, ScriptCalls.BATCH));
        return run(calls);
    }

    private CompletionStage<List<Renewed>> run(List<Sent> calls) {
        int most = port.isCluster() ? 1 : ScriptCalls.BATCH;
        return flush(calls)
                .thenCompose(again ->
                        again.isEmpty() ? CompletableFuture.completedStage(again) : flush(scripts(again, most)))
                .thenApply(done -> Arrays.asList(answers));
    }

    /** The calls of scripts that renew these claims, at most so many each. */
    private List<Sent> scripts(List<Integer> claims, int most) {
        Map<Integer, List<Integer>> bySlot = new LinkedHashMap<>();
        for (int i : claims) {
            bySlot.computeIfAbsent(slots.applyAsInt(batch.get(i).name()), slot -> new ArrayList<>())
                    .add(i);
        }
        List<Sent> calls = new ArrayList<>();
        for (List<Integer> indices : bySlot.values()) {
            for (int from = 0; from < indices.size(); from += most) {
                List<Integer> part = indices.subList(from, Math.min(indices.size(), from + most));
                calls.add(new Sent(script.apply(part.stream().map(batch::get).toList()), part, null));
            }
        }
        return calls;
    }

    /** Sends the calls, reads the replies, and returns the claims that scripts must renew in a second flush. */
    private CompletionStage<List<Integer>> flush(List<Sent> calls) {
        return port.runAll(calls.stream().map(Sent::call).toList(), replies -> {
            List<Integer> again = new ArrayList<>();
            for (int i = 0; i < calls.size(); i++) {
                Sent sent = calls.get(i);
                Object reply = replies.get(i);
                if (reply instanceof StoreException failure) {
                    failed(sent, failure, calls.size() == 1, again);
                } else if (sent.grant() == null) {
                    answered(sent.claims(), Replies.list(reply));
                } else {
                    answered(sent.claims().get(0), sent.grant(), reply, again);
                }
            }
            return again;
        });
    }

    // A server may refuse a command where it accepts a script: when it is out of memory, a script can still renew.
    private void failed(Sent sent, StoreException failure, boolean alone, List<Integer> again) {
        boolean byCommand = sent.grant() != null && failure.effect() == Effect.NONE;
        if (byCommand || (sent.claims().size() > 1 && ServerError.isDivided(failure))) {
            again.addAll(sent.claims());
        } else if (alone) {
            throw failure;
        } else {
            sent.claims().forEach(i -> answers[i] = new Renewed.Failed(failure));
        }
    }

    private void answered(int i, Grant grant, @Nullable Object reply, List<Integer> again) {
        Claim claim = batch.get(i);
        if (PlainCommands.isDone(reply)) {
            grants.renewed(grant, claim.lease());
            answers[i] =
                    new Granted(grant.counter(), ClaimArguments.micros(ClaimArguments.millis(claim.lease()) * 1_000));
        } else {
            if (reply instanceof NotKnown) {
                commands.forget();
            }
            again.add(i);
        }
    }

    private void answered(List<Integer> claims, List<?> numbers) {
        for (int j = 0; j < claims.size(); j++) {
            Claim claim = batch.get(claims.get(j));
            answers[claims.get(j)] = answered(claim, numbers, j * NUMBERS);
        }
    }

    private Renewed answered(Claim claim, List<?> numbers, int at) {
        int code = (int) Replies.number(numbers, at);
        if (code == ScriptReply.UNREADABLE) {
            return new Renewed.Failed(ServerError.returned(
                    Replies.text(numbers, at + 1),
                    ServerCall.subject(keys.lock(claim.name()), keys.record(claim.name()))));
        }
        long first = Replies.number(numbers, at + 1);
        long left = Replies.number(numbers, at + 2);
        long since = Replies.number(numbers, at + 3);
        if (code == ScriptReply.GONE) {
            grants.forget(claim.id());
        } else if (since > 0 && commands.isAnyKnown()) {
            grants.written(claim, first, since, Replies.number(numbers, at + 4), left);
        }
        return new ScriptReply(code, first, left, List.of()).renewed(claim);
    }
}
