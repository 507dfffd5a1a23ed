package dev.holdfast.testkit.process;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockException;
import dev.holdfast.LockOptions;
import dev.holdfast.testkit.HistoryChecker;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/**
 * Processes that take one lock again and again, each through {@link Holdfast#connect}, while a test stops and
 * disturbs the servers. Each process prints its holds and the times between which it knew that it held; {@link
 * #stop} collects them all.
 *
 * <p>Tokens are those of the leases, so they grow through hand-offs inside a process too. Used by one thread.
 */
public final class ContendingProcesses implements AutoCloseable {

    private static final List<String> SMALL = List.of("-Xmx64m");

    /** How long each process may take to hold the lock again after any event. */
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /**
     * Only a hold that was requested this long after an event shows that the process makes progress in spite of it.
     */
    private static final Duration AFTERMATH = Duration.ofMillis(500);

    private final List<ChildJvm> processes = new ArrayList<>();
    private final HistoryChecker history = new HistoryChecker(1);

    private ContendingProcesses() {}

    /** Starts processes, and returns when all are connected. Their leases are as long as the library's default. */
    public static ContendingProcesses start(int count, String url, String lock) {
        return start(count, url, lock, LockOptions.defaults().lease());
    }

    /** Starts processes whose leases have this length, and returns when all are connected. */
    public static ContendingProcesses start(int count, String url, String lock, Duration lease) {
        ContendingProcesses all = new ContendingProcesses();
        boolean ready = false;
        try {
            for (int i = 0; i < count; i++) {
                all.processes.add(ChildJvm.startSmall(SMALL, Contender.class, url, lock, lease.toString()));
            }
            all.processes.forEach(process -> process.expect("READY", PATIENCE));
            ready = true;
            return all;
        } finally {
            if (!ready) {
                all.close();
            }
        }
    }

    /**
     * Waits until each process has asked for the lock, and held it, after now.
     *
     * @param after the event that has just occurred, for people
     */
    public void awaitProgress(String after) {
        long eventTime = System.nanoTime();
        for (ChildJvm process : processes) {
            HistoryChecker.Hold hold;
            do {
                hold = parsed(process, process.expect("HOLD", PATIENCE));
                history.add(hold);
            } while (hold.asked() - eventTime < AFTERMATH.toNanos());
        }
        System.out.println("After " + after + " all " + processes.size() + " processes went on within "
                + TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - eventTime) + " ms");
    }

    /** Ends the processes in an orderly way, and returns the history of all their holds. */
    public HistoryChecker stop() {
        processes.forEach(process -> process.send("stop"));
        for (ChildJvm process : processes) {
            for (String line = process.readLine(PATIENCE); !line.equals("DONE"); line = process.readLine(PATIENCE)) {
                if (line.startsWith("HOLD ")) {
                    history.add(parsed(process, line.substring("HOLD ".length())));
                }
            }
        }
        return history;
    }

    private static HistoryChecker.Hold parsed(ChildJvm process, String line) {
        String[] words = line.strip().split(" ", -1);
        return new HistoryChecker.Hold(
                process.toString(),
                1,
                Long.parseLong(words[0]),
                Long.parseLong(words[1]),
                HistoryChecker.NEVER_QUEUED,
                Long.parseLong(words[2]),
                Long.parseLong(words[3]));
    }

    @Override
    public void close() {
        processes.forEach(ChildJvm::close);
    }

    /** The main class of each process. It ends when it gets input, or when its standard input is closed. */
    static final class Contender {

        private static final int CHECKS = 3;
        private static final long CHECK_EVERY_NANOS = 1_000_000;
        private static final long AFTER_TROUBLE_NANOS = 20_000_000;

        private Contender() {}

        public static void main(String[] arguments) throws InterruptedException {
            AtomicBoolean stop = new AtomicBoolean();
            Thread inputReader = new Thread(() -> awaitStop(stop));
            inputReader.setDaemon(true);
            inputReader.start();
            try (Holdfast locks = Connecting.to(arguments[0])) {
                System.out.println("READY");
                LockOptions options = LockOptions.defaults().withLease(Duration.parse(arguments[2]));
                DistributedLock lock = locks.lock(arguments[1], options);
                while (!stop.get()) {
                    hold(lock);
                }
            }
            System.out.println("DONE");
        }

        private static void awaitStop(AtomicBoolean stop) {
            try {
                stop.set(System.in.read() != 0);
            } catch (IOException closed) {
                stop.set(true);
            }
        }

        // A hold counts for as long as the process knew of it: until the last check that found the lease valid.
        private static void hold(DistributedLock lock) throws InterruptedException {
            long asked = System.nanoTime();
            try (Lease lease = lock.acquire()) {
                long from = System.nanoTime();
                boolean held = lease.isValid();
                long to = from;
                for (int i = 0; i < CHECKS; i++) {
                    long now = System.nanoTime();
                    to = lease.isValid() ? now : to;
                    LockSupport.parkNanos(CHECK_EVERY_NANOS);
                }
                if (held) {
                    System.out.println("HOLD " + lease.token() + " " + asked + " " + from + " " + to);
                }
            } catch (LockException outage) {
                System.out.println(
                        "TROUBLE " + String.valueOf(outage.getMessage()).replace('\n', ' '));
                LockSupport.parkNanos(AFTER_TROUBLE_NANOS);
            }
        }
    }
}
