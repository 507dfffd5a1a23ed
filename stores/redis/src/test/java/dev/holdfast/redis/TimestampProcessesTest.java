package dev.holdfast.redis;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Processes that lock with SETNX and GETSET, and processes with Holdfast. */
class TimestampProcessesTest extends SharedLockProcesses {

    TimestampProcessesTest() {
        super(8, 0, Program.class);
    }

    static final class Program {

        /** Long enough for a process that gets no processor for a while: this scheme does not renew. */
        private static final Duration TTL = Duration.ofSeconds(15);

        private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

        private Program() {}

        public static void main(String[] arguments) {
            SharedLockProcesses.main(arguments, Program::open, "?layout=timestamps");
        }

        private static TheirLock open(String url) {
            TimestampProgram program = new TimestampProgram(url, LOCK, TTL);
            return new TheirLock() {
                @Override
                public void lock() {
                    while (!program.tryLock()) {
                        LockSupport.parkNanos(POLL_NANOS);
                    }
                }

                @Override
                public void unlock() {
                    program.unlock();
                }

                @Override
                public void close() {
                    program.close();
                }
            };
        }
    }
}
