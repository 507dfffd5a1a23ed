package dev.holdfast.benchmarks;

import dev.holdfast.benchmarks.subject.BrokenLock;
import dev.holdfast.benchmarks.subject.CuratorSubject;
import dev.holdfast.benchmarks.subject.EtcdStubFloor;
import dev.holdfast.benchmarks.subject.JdbcFloor;
import dev.holdfast.benchmarks.subject.JedisFloor;
import dev.holdfast.benchmarks.subject.JetcdSubject;
import dev.holdfast.benchmarks.subject.JvmFloor;
import dev.holdfast.benchmarks.subject.LettuceFloor;
import dev.holdfast.benchmarks.subject.MemcachedFloor;
import dev.holdfast.benchmarks.subject.RedissonSubject;
import dev.holdfast.benchmarks.subject.SpringSubject;
import dev.holdfast.benchmarks.subject.ZooKeeperFloor;
import dev.holdfast.workload.HoldfastSubject;
import dev.holdfast.workload.Subject;
import dev.holdfast.workload.Worker;
import java.io.IOException;
import java.time.Duration;

/** The worker process of the side-by-side runs: opens the subject that its arguments name. */
final class Peers {

    private Peers() {}

    public static void main(String[] args) throws IOException {
        Worker.serve(Peers::open, args);
    }

    /** Opens a subject by its name. */
    static Subject open(String subject, String target, Duration lease) throws Exception {
        if (subject.startsWith("holdfast")) {
            return HoldfastSubject.open(subject, target, lease);
        } else if (subject.startsWith("redisson")) {
            return new RedissonSubject(subject, target, lease);
        } else if (subject.startsWith("spring") || subject.startsWith("shedlock")) {
            return new SpringSubject(subject, target, lease);
        }
        return switch (subject) {
            case "curator", "curator-semaphore" -> new CuratorSubject(target, lease, subject.endsWith("semaphore"));
            case "jetcd", "jetcd-kept" -> new JetcdSubject(subject, target, lease);
            case "floor-stubs", "floor-stubs-fenced" -> new EtcdStubFloor(target, subject.endsWith("fenced"));
            case "floor-advisory" -> new JdbcFloor(target, true);
            case "floor-blpop" -> new JedisFloor(target, true);
            case "floor-lettuce" -> new LettuceFloor(target);
            case "floor-fair" -> new JvmFloor(true);
            case "floor" -> floor(target, lease);
            case "broken" -> new BrokenLock();
            default -> throw new IllegalArgumentException("There is no subject " + subject);
        };
    }

    private static Subject floor(String target, Duration lease) throws Exception {
        if (target.startsWith("jdbc:")) {
            return new JdbcFloor(target, false);
        } else if (target.startsWith("redis://")) {
            return new JedisFloor(target, false);
        } else if (target.startsWith("http://")) {
            return new JetcdSubject("floor", target, lease);
        } else if (target.startsWith("memcached://")) {
            return new MemcachedFloor(target);
        } else if (target.startsWith("jvm:")) {
            return new JvmFloor(false);
        }
        return new ZooKeeperFloor(target);
    }
}
