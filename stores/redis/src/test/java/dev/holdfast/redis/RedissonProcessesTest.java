package dev.holdfast.redis;

import java.util.concurrent.TimeUnit;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** Processes with Redisson and processes with Holdfast, of which some are killed. */
class RedissonProcessesTest extends SharedLockProcesses {

    RedissonProcessesTest() {
        super(4, 6, Program.class);
    }

    static final class Program {

        private Program() {}

        public static void main(String[] arguments) {
            SharedLockProcesses.main(arguments, Program::open, "?layout=redisson");
        }

        private static TheirLock open(String url) {
            RedissonClient redisson = WithRedisson.client(url, LEASE);
            RLock lock = redisson.getLock(LOCK);
            return new TheirLock() {
                @Override
                public void lock() {
                    lock.lock();
                }

                @Override
                public void unlock() {
                    lock.unlock();
                }

                @Override
                public void close() {
                    redisson.shutdown(0, 1, TimeUnit.SECONDS);
                }
            };
        }
    }
}
