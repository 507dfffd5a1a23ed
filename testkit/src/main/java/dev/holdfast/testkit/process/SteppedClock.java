package dev.holdfast.testkit.process;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Assumptions;

/**
 * A wall clock of a server that a test sets while the server runs, by Debian's libfaketime, which is loaded into the server
 * before the C library. The server's monotonic clock is the machine's. Used by one thread at a time.
 */
public final class SteppedClock {

    private static final Path LIBRARIES = Path.of("/usr/lib");
    /** The library for programs with threads. */
    private static final Path LIBRARY = Path.of("faketime", "libfaketimeMT.so.1");

    private final Path file;
    private final Path library;
    private Duration offset = Duration.ZERO;

    /**
     * A clock that shows the machine's time.
     *
     * @param folder where its file is; the server must be allowed to read it, so all users are from now on
     */
    public SteppedClock(Path folder) {
        file = folder.resolve("clock");
        library = require();
        try {
            Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
        write();
    }

    /** Skips the test with a message where the library is not installed. */
    public static Path require() {
        try (DirectoryStream<Path> architectures = Files.newDirectoryStream(LIBRARIES)) {
            for (Path architecture : architectures) {
                Path found = architecture.resolve(LIBRARY);
                if (Files.exists(found)) {
                    return found;
                }
            }
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
        return Assumptions.abort("The clock of a server can be set with libfaketime only: apt-get install libfaketime");
    }

    /** What stands before the command of a server that reads this clock. */
    public List<String> prefix() {
        return List.of(
                "env",
                "LD_PRELOAD=" + library,
                "FAKETIME_TIMESTAMP_FILE=" + file,
                // A step is seen at once.
                "FAKETIME_NO_CACHE=1",
                "FAKETIME_DONT_FAKE_MONOTONIC=1",
                // Its old name.
                "DONT_FAKE_MONOTONIC=1",
                "FAKETIME_DONT_RESET=1");
    }

    /** A clock of a process that was prepared and not started yet. */
    public static SteppedClock of(ServerProcess process) {
        SteppedClock clock = new SteppedClock(process.folder());
        process.startBehind(clock.prefix());
        return clock;
    }

    /** Sets it forward, or back if this is negative. */
    public void step(Duration by) {
        offset = offset.plus(by);
        write();
    }

    // Replaced as a whole: the server may read it at any time.
    private void write() {
        try {
            Path next = file.resolveSibling("next-clock");
            Files.writeString(next, (offset.isNegative() ? "" : "+") + offset.toSeconds() + "s");
            Files.move(next, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }
}
