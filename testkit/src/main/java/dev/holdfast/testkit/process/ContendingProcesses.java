package dev.holdfast.testkit.process;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockException;
import dev.holdfast.testkit.HistoryChecker;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;

/**
 * Processes that take one lock again and again, each through {@link Holdfast#connect}, while a test does its worst to the
 * servers. Each says what it held and for how long it knew so; {@link #stop} puts all of it together.
 *
 * <p>Tokens are those of the leases, so they grow through hand-offs inside a process too. Used by one thread.
 */
public final class ContendingProcesses implements AutoCloseable {

    private static final List<String> SMALL = List.of("-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1");

    /** How long each process may take to hold the lock once more, whatever has happened. */
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /** Only what was asked for so long after something happened shows that a process goes on in spite of it. */
    private static final Duration AFTERMATH = Duration.ofMillis(500);

    private final List<ChildJvm> processes = new ArrayList<>();
    private final HistoryChecker history = new HistoryChecker(1);

    private ContendingProcesses() {}

    /** Starts processes, and returns when all are connected. */
    public static ContendingProcesses start(int count, String url, String lock) {
        ContendingProcesses all = new ContendingProcesses();
        boolean ready = false;
        try {
            for (int i = 0; i < count; i++) {
                all.processes.add(ChildJvm.start(SMALL, Contender.class, url, lock));
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
     * @param after what has just happened, for people
     */
    public void awaitProgress(String after) {
        long happened = System.nanoTime();
        for (ChildJvm process : processes) {
            HistoryChecker.Hold hold;
            do {
                hold = parsed(process, process.expect("HOLD", PATIENCE));
                history.add(hold);
            } while (hold.asked() - happened < AFTERMATH.toNanos());
        }
        System.out.println("After " + after + " all " + processes.size() + " processes went on within "
                + TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - happened) + " ms");
    }

    /** Ends the processes in order, and gives all that they have held. */
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

    /** What each process runs. It ends when it is told to, or when its standard input is closed. */
    static final class Contender {

        private static final int LOOKS = 3;
        private static final long LOOK_EVERY_NANOS = 1_000_000;
        private static final long AFTER_TROUBLE_NANOS = 20_000_000;

        private Contender() {}

        public static void main(String[] arguments) throws InterruptedException {
            AtomicBoolean stop = new AtomicBoolean();
            Thread ears = new Thread(() -> listen(stop));
            ears.setDaemon(true);
            ears.start();
            try (Holdfast locks = Holdfast.connect(arguments[0])) {
                System.out.println("READY");
                while (!stop.get()) {
                    hold(locks, arguments[1]);
                }
            }
            System.out.println("DONE");
        }

        private static void listen(AtomicBoolean stop) {
            try {
                stop.set(System.in.read() != 0);
            } catch (IOException closed) {
                stop.set(true);
            }
        }

        // What counts as held is what it knew: until its last look at a lease that was valid.
        private static void hold(Holdfast locks, String name) throws InterruptedException {
            long asked = System.nanoTime();
            try (Lease lease = locks.lock(name).acquire()) {
                long from = System.nanoTime();
                boolean held = lease.isValid();
                long to = from;
                for (int i = 0; i < LOOKS; i++) {
                    long now = System.nanoTime();
                    to = lease.isValid() ? now : to;
                    LockSupport.parkNanos(LOOK_EVERY_NANOS);
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
