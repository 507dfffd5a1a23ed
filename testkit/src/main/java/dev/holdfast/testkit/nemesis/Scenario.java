package dev.holdfast.testkit.nemesis;

import dev.holdfast.testkit.process.NetworkNamespace;
import dev.holdfast.testkit.process.ServerClock;
import dev.holdfast.testkit.process.SmallDisk;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Where and how a {@link FaultRun} is run. It is changed while it is built up only, and then not any more. Not thread-safe
 * meanwhile.
 */
public final class Scenario {

    private final IntFunction<String> url;
    private final @Nullable TargetServer server;
    private final Duration lease;
    private final Duration bound;
    private @Nullable ServerClock clock;
    private @Nullable SmallDisk disk;
    private @Nullable TargetCluster cluster;
    private Duration longTurn = Duration.ZERO;
    private boolean isFenced = true;
    private boolean excludes = true;
    private boolean isPartitioned;
    private Set<Injection> kinds;

    private Scenario(IntFunction<String> url, @Nullable TargetServer server, Duration lease, Duration bound) {
        this.url = url;
        this.server = server;
        this.lease = lease;
        this.bound = bound;
        this.kinds = EnumSet.noneOf(Injection.class);
        for (Injection kind : Injection.values()) {
            if (isUsual(kind)) {
                kinds.add(kind);
            }
        }
    }

    private boolean isUsual(Injection kind) {
        return switch (kind.needs()) {
            case NOTHING -> kind != Injection.NO_HANDLES || Handles.canBeLimited();
            case LINE, SERVER -> server != null;
            case A_WORD -> false;
        };
    }

    /** All that is usually done to clients of a store that is a file. */
    public static Scenario onFile(String url, Duration lease) {
        return new Scenario(port -> url, null, lease, lease);
    }

    /**
     * All that is usually done to a server, its clients and their lines.
     *
     * @param lease the lease of the lock
     * @param bound how long one that has vanished may keep others waiting; on stores with sessions that is the session
     */
    public static Scenario onServer(TargetServer server, Duration lease, Duration bound) {
        return new Scenario(server::url, server, lease, bound);
    }

    /**
     * Frozen holders, and a server of a cluster at a time that is cut off from the others, in both directions or in one.
     * Some turns are as long as that may keep others waiting: a client whose server is cut off has to learn in the midst
     * of its turn that it holds no more.
     *
     * @param lease the lease of the lock
     * @param bound how long a server that is cut off may keep the clients of others waiting: an election, and a session
     */
    public static Scenario onCluster(TargetCluster cluster, Duration lease, Duration bound) {
        Scenario scenario = new Scenario(port -> cluster.url(), null, lease, bound);
        scenario.cluster = cluster;
        scenario.longTurn = bound;
        return scenario.with(
                Injection.FREEZE_HOLDER,
                Injection.CUT_OFF_LEADER,
                Injection.CUT_OFF_FOLLOWER,
                Injection.DROP_FROM_LEADER,
                Injection.DROP_TO_LEADER,
                Injection.DROP_FROM_FOLLOWER,
                Injection.DROP_TO_FOLLOWER);
    }

    /** With a resource that checks no token: something must get lost. */
    public Scenario withoutFence() {
        isFenced = false;
        return this;
    }

    /** Where two may hold at once by what the store's page says; tokens grow all the same. */
    public Scenario withoutExclusion() {
        excludes = false;
        return this;
    }

    /** With these faults only. */
    public Scenario with(Injection first, Injection... others) {
        kinds = EnumSet.of(first, others);
        return this;
    }

    /** With all usual faults but these. */
    public Scenario without(Injection first, Injection... others) {
        kinds.removeAll(EnumSet.of(first, others));
        return this;
    }

    /** With steps of the server's clock, too. */
    public Scenario withStepsOf(ServerClock clockOfServer) {
        clock = clockOfServer;
        kinds.addAll(EnumSet.of(Injection.CLOCK_FORWARD, Injection.CLOCK_BACK));
        return this;
    }

    /** With a disk of the server's that is full at times, too. */
    public Scenario withFull(SmallDisk diskOfServer) {
        disk = diskOfServer;
        kinds.add(Injection.FULL_DISK);
        return this;
    }

    /** With clients that have a network of their own, which is cut off at times, too. */
    public Scenario withPartitions() {
        NetworkNamespace.require();
        isPartitioned = true;
        kinds.add(Injection.PARTITION);
        return this;
    }

    boolean isPartitioned() {
        return isPartitioned;
    }

    String url(int port) {
        return url.apply(port);
    }

    /** Null if the store is a file or a cluster. */
    @Nullable
    TargetServer server() {
        return server;
    }

    @Nullable
    ServerClock clock() {
        return clock;
    }

    @Nullable
    SmallDisk disk() {
        return disk;
    }

    @Nullable
    TargetCluster cluster() {
        return cluster;
    }

    Duration lease() {
        return lease;
    }

    /** Zero if there are no long turns. */
    Duration longTurn() {
        return longTurn;
    }

    Duration bound() {
        return bound;
    }

    boolean isFenced() {
        return isFenced;
    }

    boolean excludes() {
        return excludes;
    }

    Set<Injection> kinds() {
        return kinds;
    }
}
