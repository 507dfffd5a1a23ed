package dev.holdfast.benchmarks.subject;

import dev.holdfast.workload.LockSection;
import dev.holdfast.workload.Section;
import dev.holdfast.workload.Subject;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.RedissonMultiLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * Redisson with its defaults, except for the watchdog's time: {@code redisson} (RLock), {@code redisson-fair},
 * {@code redisson-spin}, {@code redisson-semaphore} (RPermitExpirableSemaphore of one permit), {@code
 * redisson-redlock} (over several servers, whose addresses are separated by commas).
 */
public final class RedissonSubject implements Subject {

    private final String subject;
    private final Duration lease;
    private final List<RedissonClient> clients = new ArrayList<>();

    public RedissonSubject(String subject, String addresses, Duration lease) {
        this.subject = subject;
        this.lease = lease;
        for (String address : addresses.split(",")) {
            Config config = new Config();
            config.setLockWatchdogTimeout(lease.toMillis());
            config.useSingleServer().setAddress(address);
            clients.add(Redisson.create(config));
        }
    }

    private RedissonClient client() {
        return clients.get(0);
    }

    @Override
    public Section mutex(String name) {
        return switch (subject) {
            case "redisson-fair" -> new LockSection(client().getFairLock(name));
            case "redisson-spin" -> new LockSection(client().getSpinLock(name));
            case "redisson-redlock" -> new LockSection(redLock(name));
            case "redisson-semaphore" -> permit(name);
            default -> new LockSection(client().getLock(name));
        };
    }

    // The class named RedLock is deprecated; the multi-lock is what its documentation points to, and it asks all
    // servers.
    @SuppressWarnings("deprecation")
    private RedissonMultiLock redLock(String name) {
        return new org.redisson.RedissonRedLock(
                clients.stream().map(client -> client.getLock(name)).toArray(RLock[]::new));
    }

    private Section permit(String name) {
        RPermitExpirableSemaphore semaphore = client().getPermitExpirableSemaphore(name + "-permits");
        semaphore.trySetPermits(1);
        String[] held = new String[1];
        return new Section() {
            @Override
            public void enter() throws InterruptedException {
                held[0] = semaphore.acquire(lease.toMillis(), TimeUnit.MILLISECONDS);
            }

            @Override
            public void leave() {
                semaphore.release(held[0]);
            }
        };
    }

    @Override
    public Section reader(String name) {
        return new LockSection(client().getReadWriteLock(name).readLock());
    }

    @Override
    public Section writer(String name) {
        return new LockSection(client().getReadWriteLock(name).writeLock());
    }

    @Override
    public void close() {
        clients.forEach(RedissonClient::shutdown);
    }
}
