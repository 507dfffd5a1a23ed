package dev.holdfast.testkit.process;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/** Signals to processes, as an operator sends them. */
public final class Signals {

    private static final long PATIENCE_SECONDS = 20;
    private static final long POLL_NANOS = 500_000;
    private static final Path PROCESSES = Path.of("/proc");

    private Signals() {}

    /**
     * Sends a signal by its name without {@code SIG}. For {@code STOP} it returns when all threads of the process
     * have stopped: the system stops them one by one, and a thread that still runs may answer a request that must
     * not be answered. (If there is no {@code /proc}, it returns at once.)
     *
     * @return whether the process existed
     * @throws AssertionError if the signal could not be sent, or had no effect for a long time
     */
    public static boolean send(String name, long pid) {
        try {
            Process kill = new ProcessBuilder("kill", "-" + name, Long.toString(pid))
                    .redirectErrorStream(true)
                    .start();
            if (!kill.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
                throw new AssertionError("SIG" + name + " could not be sent to process " + pid);
            }
            boolean sent = kill.exitValue() == 0;
            if (sent && name.equals("STOP")) {
                awaitStandstill(pid);
            }
            return sent;
        } catch (IOException | InterruptedException failure) {
            throw new AssertionError("SIG" + name + " could not be sent to process " + pid, failure);
        }
    }

    private static void awaitStandstill(long pid) {
        Path threads = PROCESSES.resolve(Long.toString(pid)).resolve("task");
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        while (isAnyRunning(threads)) {
            if (System.nanoTime() - deadline > 0) {
                throw new AssertionError("Process " + pid + " did not stop");
            }
            LockSupport.parkNanos(POLL_NANOS);
        }
    }

    private static boolean isAnyRunning(Path threads) {
        List<Path> all;
        try (Stream<Path> found = Files.list(threads)) {
            all = found.toList();
        } catch (IOException gone) {
            return false;
        }
        return all.stream().map(Signals::state).anyMatch(state -> "TtZX".indexOf(state) < 0);
    }

    private static char state(Path thread) {
        try {
            String line = Files.readString(thread.resolve("stat"));
            // The line has the id, the name in brackets, which may contain anything, and the state.
            return line.charAt(line.lastIndexOf(')') + 2);
        } catch (IOException gone) {
            return 'X';
        }
    }
}
