package dev.holdfast.benchmarks;

import static dev.holdfast.workload.Workload.FREE;
import static dev.holdfast.workload.Workload.FREE_16;
import static dev.holdfast.workload.Workload.HAND_OFF;
import static dev.holdfast.workload.Workload.HAND_OFF_LATE;
import static dev.holdfast.workload.Workload.HELD_AFTER_CHURN;
import static dev.holdfast.workload.Workload.HERD_16;
import static dev.holdfast.workload.Workload.HERD_4;
import static dev.holdfast.workload.Workload.HERD_64;
import static dev.holdfast.workload.Workload.MIXED;
import static dev.holdfast.workload.Workload.PROCESSES;
import static dev.holdfast.workload.Workload.REENTRY;
import static dev.holdfast.workload.Workload.SIGNAL;
import static dev.holdfast.workload.Workload.THREADS;

import dev.holdfast.benchmarks.server.EtcdNode;
import dev.holdfast.benchmarks.server.FarServer;
import dev.holdfast.benchmarks.server.FileStore;
import dev.holdfast.benchmarks.server.MemcachedNode;
import dev.holdfast.benchmarks.server.NoServer;
import dev.holdfast.benchmarks.server.RedisNode;
import dev.holdfast.benchmarks.server.Server;
import dev.holdfast.benchmarks.server.SqlNode;
import dev.holdfast.benchmarks.server.ThreeNodes;
import dev.holdfast.benchmarks.server.ZooKeeperNode;
import java.util.List;
import java.util.function.Supplier;

/**
 * A store and all entrants that run on it. A new store is one more line here.
 *
 * @param name what the command line and the tables call it
 * @param starter starts its server
 */
record Field(String name, Supplier<Server> starter, List<Entrant> entrants) {

    private static final long FAR_MILLIS = 5;

    static List<Field> all() {
        return List.of(
                memory(),
                sqlite(),
                redis(),
                redlock(),
                postgres(),
                mariadb(),
                zookeeper(),
                etcd(),
                memcached(),
                farZookeeper(),
                farEtcd());
    }

    private static Field memory() {
        return new Field(
                "memory",
                NoServer::new,
                List.of(
                        Entrant.of("holdfast", FREE, REENTRY, THREADS).quick(),
                        Entrant.of("holdfast-fair", THREADS),
                        Entrant.of("floor", FREE, REENTRY, THREADS).quick(),
                        Entrant.of("floor-fair", THREADS)));
    }

    private static Field sqlite() {
        return new Field(
                "sqlite",
                FileStore::new,
                List.of(
                        Entrant.forAll("holdfast").without(HELD_AFTER_CHURN).and(SIGNAL),
                        Entrant.of("floor", FREE, FREE_16).quick()));
    }

    private static Field redis() {
        return new Field(
                "redis",
                RedisNode::new,
                List.of(
                        Entrant.forAll("holdfast").and(SIGNAL),
                        Entrant.of("holdfast-fair", THREADS, PROCESSES),
                        Entrant.of("holdfast", FREE, FREE_16).as("holdfast-lettuce", "+lettuce"),
                        Entrant.forAll("redisson"),
                        Entrant.of("redisson-fair", FREE, THREADS, PROCESSES, HAND_OFF, HERD_4, HERD_16, HERD_64),
                        Entrant.of("redisson-spin", FREE, HAND_OFF),
                        Entrant.of("redisson-semaphore", FREE),
                        Entrant.of("spring-redis", FREE, FREE_16, REENTRY, THREADS, HAND_OFF),
                        Entrant.of("spring-redis-pubsub", FREE, HAND_OFF),
                        Entrant.of("shedlock-redis", FREE, FREE_16),
                        Entrant.of("floor", FREE, FREE_16).quick(),
                        Entrant.of("floor-lettuce", FREE, FREE_16),
                        Entrant.of("floor-blpop", THREADS, PROCESSES, HAND_OFF, HERD_4, HERD_16, HERD_64)));
    }

    private static Field redlock() {
        return new Field(
                "redlock",
                ThreeNodes::new,
                List.of(
                        Entrant.of("holdfast", FREE),
                        Entrant.of("holdfast", FREE).as("holdfast-lettuce", "+lettuce"),
                        Entrant.of("redisson-redlock", FREE)));
    }

    private static Field postgres() {
        return new Field(
                "postgres",
                SqlNode::postgres,
                List.of(
                        Entrant.forAll("holdfast").without(HELD_AFTER_CHURN).and(HAND_OFF_LATE, SIGNAL),
                        Entrant.of("holdfast", FREE, FREE_16).as("holdfast-relaxed", "&holdfast.durability=relaxed"),
                        Entrant.of("holdfast", HAND_OFF, HAND_OFF_LATE).as("holdfast-poll", "&holdfast.wakeup=poll"),
                        Entrant.of("spring-jdbc", FREE, FREE_16, REENTRY, THREADS, HAND_OFF, HAND_OFF_LATE)
                                .quick(),
                        Entrant.of("shedlock-jdbc", FREE, FREE_16),
                        Entrant.of("floor", FREE, FREE_16).quick(),
                        Entrant.of("floor-advisory", FREE, THREADS, PROCESSES, HAND_OFF)));
    }

    private static Field mariadb() {
        return new Field(
                "mariadb",
                SqlNode::mariadb,
                List.of(
                        Entrant.of("holdfast", FREE, FREE_16, THREADS, PROCESSES, HAND_OFF, HAND_OFF_LATE, SIGNAL),
                        Entrant.of("spring-jdbc", FREE, THREADS),
                        Entrant.of("shedlock-jdbc", FREE),
                        Entrant.of("floor", FREE, FREE_16),
                        Entrant.of("floor-advisory", FREE, THREADS, PROCESSES, HAND_OFF)));
    }

    private static Field zookeeper() {
        return new Field(
                "zookeeper",
                ZooKeeperNode::new,
                List.of(
                        Entrant.forAll("holdfast").without(HELD_AFTER_CHURN).and(SIGNAL),
                        Entrant.of("holdfast-semaphore", FREE, THREADS),
                        Entrant.forAll("curator").without(HELD_AFTER_CHURN),
                        Entrant.of("curator-semaphore", FREE, THREADS),
                        Entrant.of("floor", FREE, FREE_16, THREADS, PROCESSES, HAND_OFF, HERD_4, HERD_16, HERD_64)
                                .quick()));
    }

    private static Field etcd() {
        return new Field(
                "etcd",
                EtcdNode::new,
                List.of(
                        Entrant.forAll("holdfast").without(HELD_AFTER_CHURN).and(SIGNAL),
                        Entrant.of("jetcd", FREE, FREE_16, THREADS, PROCESSES, HAND_OFF, MIXED)
                                .quick(),
                        Entrant.of("jetcd-kept", FREE, FREE_16, HAND_OFF),
                        Entrant.of("floor", FREE, FREE_16).quick(),
                        Entrant.of("floor-stubs", FREE, FREE_16),
                        Entrant.of("floor-stubs-fenced", FREE_16)));
    }

    private static Field memcached() {
        return new Field(
                "memcached", MemcachedNode::new, List.of(Entrant.of("holdfast", FREE), Entrant.of("floor", FREE)));
    }

    private static Field farZookeeper() {
        return new Field(
                "zookeeper-far",
                () -> new FarServer(new ZooKeeperNode(), FAR_MILLIS),
                List.of(
                        Entrant.of("holdfast", FREE, HAND_OFF),
                        Entrant.of("holdfast-semaphore", FREE),
                        Entrant.of("curator", FREE, HAND_OFF),
                        Entrant.of("curator-semaphore", FREE),
                        Entrant.of("floor", FREE, HAND_OFF)));
    }

    private static Field farEtcd() {
        return new Field(
                "etcd-far",
                () -> new FarServer(new EtcdNode(), FAR_MILLIS),
                List.of(
                        Entrant.of("holdfast", FREE, HAND_OFF),
                        Entrant.of("jetcd", FREE, HAND_OFF),
                        Entrant.of("floor", FREE)));
    }
}
