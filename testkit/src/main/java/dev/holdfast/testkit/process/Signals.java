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
    private static final long LOOK_NANOS = 500_000;
    private static final Path PROCESSES = Path.of("/proc");

    private Signals() {}

    /**
     * Sends a signal by its name without {@code SIG}. After {@code STOP} returns when all threads of the process stand still:
     * the system stops them one by one, and one that still runs may answer a request that was not to be answered. (Where
     * there is no {@code /proc} it returns at once.)
     *
     * @return whether there was such a process
     * @throws AssertionError if the signal could not be sent, or has no effect for long
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
            LockSupport.parkNanos(LOOK_NANOS);
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
            // Its id, its name in brackets, which may contain anything, and the state.
            return line.charAt(line.lastIndexOf(')') + 2);
        } catch (IOException gone) {
            return 'X';
        }
    }
}
