package dev.holdfast.testkit.nemesis;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** The limit of open files of another process, which the system changes while that process runs. */
final class Handles {

    private static final Path PROGRAM = Path.of("/usr/bin/prlimit");
    private static final String MANY = "4096";
    private static final long PATIENCE_SECONDS = 20;

    private Handles() {}

    /** Whether this system has the program for it. */
    static boolean canBeLimited() {
        return Files.isExecutable(PROGRAM);
    }

    /** From now on the process can open nothing; what it has open stays so. */
    static void take(long pid) {
        // The numbers below are those of standard input, output and errors, so no number that is free is below the
        // limit.
        limit(pid, "3");
    }

    /** Lets it open files again. */
    static void giveBack(long pid) {
        limit(pid, MANY);
    }

    // Only the soft limit is set, as the hard one could not be raised again.
    private static void limit(long pid, String files) {
        try {
            Process set = new ProcessBuilder(PROGRAM.toString(), "--pid=" + pid, "--nofile=" + files + ":")
                    .redirectErrorStream(true)
                    .start();
            if (!set.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS) || set.exitValue() != 0) {
                throw new AssertionError("The limit of open files of process " + pid + " could not be set");
            }
        } catch (IOException | InterruptedException failure) {
            throw new AssertionError("The limit of open files of process " + pid + " could not be set", failure);
        }
    }
}
