package dev.holdfast.redis.plain;

import dev.holdfast.redis.client.HashSlot;
import dev.holdfast.redis.client.RedisPort;
import dev.holdfast.redis.client.Replies;
import dev.holdfast.redis.client.Script;
import dev.holdfast.redis.client.ServerCall;
import dev.holdfast.redis.client.ServerCall.NotKnown;
import dev.holdfast.redis.config.Layout;
import dev.holdfast.redis.config.RedisOptions;
import dev.holdfast.redis.config.Stamp;
import dev.holdfast.redis.plain.PlainGrants.Grant;
import dev.holdfast.redis.record.ClaimArguments;
import dev.holdfast.redis.record.InspectReply;
import dev.holdfast.redis.record.KeyScan;
import dev.holdfast.redis.record.ScriptReply;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreTraits;
import dev.holdfast.spi.StoreTraits.Kinds;
import dev.holdfast.spi.StoreTraits.Liveness;
import dev.holdfast.spi.StoreTraits.TokenSurvival;
import dev.holdfast.store.Bounds;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * A store in a Redis server, or one of its relatives, in which an exclusive lock is what other programs make, too. Its
 * locks and theirs, on the same key, exclude each other.
 *
 * <ul>
 *   <li>The string that {@code SET NAME VALUE NX PX} makes, of programs that compare the value before they delete the
 *       key; {@code plain-string.lua} describes the keys.
 *   <li>With {@code layout=redisson} the hash of Redisson's {@code RLock}; {@code plain-hash.lua} describes the keys. A
 *       release is published as Redisson's clients do it, and they and the watchers of this store try again then.
 *   <li>With {@code layout=timestamps} the time stamp of programs that lock with {@code SETNX} and take over with
 *       {@code GETSET}; {@code plain-stamp.lua} describes the keys, and what such programs overwrite.
 * </ul>
 *
 * <p>Acquiring is a script, because the fencing token must be taken in the same step. Releasing and renewing use
 * the best command that the server has ({@link PlainCommands}) where one command is enough. A script does it where
 * that is not enough: when a late copy of the request may be under way, when lease or owner change, and when the
 * command has not found the expected string.
 *
 * <p>{@code layout=plain} carries exclusive locks only. {@code layout=mixed} keeps the other kinds in the record
 * beside the string. There is no queue in either layout: any program may delete the string, and then nothing would
 * grant the lock to the next waiter. Thread-safe.
 */
public final class PlainRedisLockStore implements LockStore {

    /**
     * The most round trips of one operation: a command, and a script because the command did not find the expected
     * string; or the search for the commands, and a script.
     */
    private static final int TRIPS = 2;

    /** A key that never exists. */
    static final byte[] PROBE_KEY = (Layout.PLAIN_RECORDS + "try").getBytes(StandardCharsets.US_ASCII);

    private static final byte[][] NONE = {};
    private static final int SINCE = 3;
    private static final int HELD = 6;
    private static final int KEYS = 2;

    private final RedisPort port;
    private final Layout layout;
    private final PlainScripts scripts;
    private final StoreTraits traits;
    private final PlainKeys keys;
    private final MonotonicClock clock;
    private final byte[] context;
    private final PlainCommands commands;
    private final PlainGrants grants;
    /** What all scripts have as their last arguments. */
    private final byte[][] last;
    /** Null if nothing is published. */
    private final @Nullable ReleaseChannels channels;

    /** The store closes the port. */
    public PlainRedisLockStore(RedisPort port, RedisOptions options, MonotonicClock clock) {
        this.port = port;
        this.layout = options.layout();
        this.scripts = switch (layout) {
            case REDISSON -> PlainScripts.OF_HASHES;
            case TIMESTAMPS -> PlainScripts.OF_STAMPS;
            default -> PlainScripts.OF_STRINGS;
        };
        this.channels = layout == Layout.REDISSON ? new ReleaseChannels(port) : null;
        this.last = layout == Layout.TIMESTAMPS ? new byte[][] {form(options.stamp())} : NONE;
        this.keys = new PlainKeys(options.prefix());
        this.clock = clock;
        // There is no channel and no ticket, because no claim waits in this store.
        this.context = ("- 0 " + ClaimArguments.millis(options.keep())).getBytes(StandardCharsets.US_ASCII);
        this.commands = new PlainCommands(port, layout);
        this.grants = new PlainGrants(clock, options.keep());
        this.traits = new StoreTraits(
                        layout == Layout.TAIR ? "tair" : "redis, layout=" + layout,
                        false,
                        false,
                        false,
                        TokenSurvival.DATA_LOSS,
                        Liveness.LEASE,
                        Duration.ofMillis(1),
                        Duration.ZERO,
                        port.callTimeout().multipliedBy(TRIPS))
                .withKinds(layout.hasAllKinds() ? Kinds.ALL : Kinds.MUTEX);
    }

    private static byte[] form(Stamp stamp) {
        return (stamp.micros() + (stamp.isNamed() ? " 1" : " 0")).getBytes(StandardCharsets.US_ASCII);
    }

    /** Checks that the server answers, by a key that no other program has, and tries which commands it has. */
    public void check() {
        List<byte[]> arguments = new ArrayList<>(List.of(PROBE_KEY, PROBE_KEY, context));
        arguments.addAll(Arrays.asList(last));
        ServerCall call = new ServerCall(scripts.inspect(), KEYS, arguments.toArray(NONE));
        port.run(call.inSlot(port.isCluster() ? HashSlot.of(PROBE_KEY) : 0), Replies::list)
                .toCompletableFuture()
                .join();
        commands.find().toCompletableFuture().join();
    }

    @Override
    public StoreTraits traits() {
        return traits;
    }

    @Override
    public CompletionStage<Attempt> tryAcquire(Claim claim) {
        if (!layout.hasAllKinds() && claim.limit() != 1) {
            return CompletableFuture.failedStage(otherKind(claim));
        }
        if (port.isCluster() && !keys.areInOneSlot(claim.name(), channels != null)) {
            return CompletableFuture.failedStage(StoreException.refused(
                    "\"" + claim.name() + "\" cannot be locked with layout=" + layout
                            + " on a cluster, because the keys that belong to it are in several hash slots: leave out the"
                            + " braces, or put a hash tag into the name, as in {order}:42",
                    null));
        }
        return commands.mustBeFound() ? commands.find().thenCompose(found -> acquire(claim)) : acquire(claim);
    }

    private CompletionStage<Attempt> acquire(Claim claim) {
        byte[][] more = channels == null ? NONE : new byte[][] {keys.fairQueue(claim.name())};
        return port.run(call(scripts.acquire(), List.of(claim), more), reply -> {
            List<?> parts = Replies.list(reply);
            long first = Replies.number(parts, 1);
            long second = Replies.number(parts, 2);
            long since = Replies.number(parts, SINCE);
            if (since > 0 && commands.isAnyKnown()) {
                grants.written(claim, first, since, since + second, second);
            }
            return new ScriptReply((int) Replies.number(parts, 0), first, second, List.of()).attempt(claim);
        });
    }

    private StoreException otherKind(Claim claim) {
        String kind = switch (claim.limit()) {
            case 0 -> "a wait set (a condition)";
            case Claim.ALL -> "a read-write lock";
            default -> "a semaphore of " + claim.limit();
        };
        return StoreException.refused(
                "layout=" + layout + " carries exclusive locks only, but \"" + claim.name() + "\" was claimed as "
                        + kind + " by " + claim.owner() + ": open a store with layout=record or layout=mixed for it",
                null);
    }

    @Override
    public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
        List<Claim> batch = Bounds.batch(claims);
        PlainRenewal renewal = new PlainRenewal(
                port, keys, commands, grants, part -> call(scripts.renew(), part, NONE), this::slot, batch);
        return commands.mustBeFound() ? commands.find().thenCompose(found -> renewal.byScripts()) : renewal.run();
    }

    @Override
    public CompletionStage<Released> release(Claim claim) {
        Grant grant = grants.forget(claim.id());
        ServerCall command =
                grant == null || claim.repeated() ? null : commands.delete(keys.lock(claim.name()), grant.text());
        if (command == null) {
            return releaseByScript(claim);
        }
        return port.run(command.inSlot(slot(claim.name())), this::isDone)
                .thenCompose(done -> done ? CompletableFuture.completedStage(Released.ALONE) : releaseByScript(claim));
    }

    private boolean isDone(@Nullable Object reply) {
        if (reply instanceof NotKnown) {
            commands.forget();
        }
        return PlainCommands.isDone(reply);
    }

    private CompletionStage<Released> releaseByScript(Claim claim) {
        List<byte[]> arguments = new ArrayList<>(List.of(
                keys.lock(claim.name()),
                keys.record(claim.name()),
                context,
                ClaimArguments.id(claim.id()),
                ServerCall.number(ClaimArguments.millis(claim.lease())),
                ClaimArguments.flag(claim.repeated())));
        if (channels != null) {
            // As Redisson does: sharded channels wherever a cluster has them.
            arguments.add((port.isCluster() ? "SPUBLISH" : "PUBLISH").getBytes(StandardCharsets.US_ASCII));
            arguments.add(keys.channel(claim.name()).getBytes(StandardCharsets.UTF_8));
        }
        arguments.addAll(Arrays.asList(last));
        ServerCall call = new ServerCall(scripts.release(), KEYS, arguments.toArray(NONE));
        return port.run(
                call.inSlot(slot(claim.name())),
                reply -> Long.valueOf(1).equals(reply) ? Released.ALONE : Released.NOT_OWNER);
    }

    @Override
    public ListenerRegistration watch(LockName name, Runnable mayBeFree) {
        return channels == null ? ListenerRegistration.NONE : channels.watch(keys.channel(name), mayBeFree);
    }

    @Override
    public CompletionStage<Optional<ResourceState>> inspect(LockName name) {
        List<byte[]> arguments = new ArrayList<>(List.of(keys.lock(name), keys.record(name), context));
        arguments.addAll(Arrays.asList(last));
        ServerCall call = new ServerCall(scripts.inspect(), KEYS, arguments.toArray(NONE));
        return port.run(call.inSlot(slot(name)), reply -> {
            List<?> parts = Replies.list(reply);
            ResourceState record = InspectReply.state(name, keys.record(name), parts);
            List<?> held = Replies.list(parts.get(HELD));
            if (held.isEmpty()) {
                return Optional.of(record).filter(ResourceState::isInUse);
            }
            ResourceState.Entry holder = PlainGrants.entry(
                    name,
                    Replies.bytes(held, 0),
                    Replies.number(held, 1),
                    Replies.text(held, 2),
                    Replies.number(parts, 2));
            return Optional.of(new ResourceState(name, 1, record.counter(), List.of(holder), List.of()));
        });
    }

    @Override
    public CompletionStage<List<LockName>> list(String prefix, int limit) {
        Bounds.list(limit);
        CompletionStage<List<LockName>> locks =
                new KeyScan(port, scripts.list(), keys.locks(), prefix, limit, clock, last).run();
        Script others = layout == Layout.TIMESTAMPS ? PlainScripts.LIST_HELD : Script.LIST;
        if (!layout.hasAllKinds() && layout != Layout.TIMESTAMPS) {
            return locks;
        }
        return locks.thenCompose(found -> new KeyScan(port, others, keys.records(), prefix, limit, clock)
                .run()
                .thenApply(more -> {
                    TreeSet<LockName> all = new TreeSet<>(found);
                    all.addAll(more);
                    return all.stream().limit(limit).toList();
                }));
    }

    @Override
    public void close() {
        if (channels != null) {
            channels.close();
        }
        port.close();
    }

    private int slot(LockName name) {
        return port.isCluster() ? HashSlot.of(keys.lock(name)) : 0;
    }

    // Each claim has two keys; all keys must be in one slot.
    private ServerCall call(Script script, List<Claim> claims, byte[][] moreKeys) {
        int count = KEYS * claims.size() + moreKeys.length;
        int size = count + 1 + claims.size() * ClaimArguments.FIELDS;
        byte[][] arguments = new byte[size + last.length][];
        System.arraycopy(last, 0, arguments, size, last.length);
        arguments[count] = context;
        for (int i = 0; i < claims.size(); i++) {
            arguments[KEYS * i] = keys.lock(claims.get(i).name());
            arguments[KEYS * i + 1] = keys.record(claims.get(i).name());
            ClaimArguments.put(arguments, count + 1 + i * ClaimArguments.FIELDS, claims.get(i));
        }
        System.arraycopy(moreKeys, 0, arguments, KEYS * claims.size(), moreKeys.length);
        return new ServerCall(script, count, arguments)
                .inSlot(slot(claims.get(0).name()));
    }

    /** Contains the commands that are used, and how many grants are known. */
    @Override
    public String toString() {
        return traits.product() + " store " + port + " with " + commands.names() + ", " + grants.size()
                + " grants known";
    }
}
