package dev.holdfast.jdbc.sqlite;

import dev.holdfast.spi.StoreException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * The id of the current boot of this host. It is needed because the monotonic clock starts again with each boot.
 *
 * <p>On Linux it is {@code /proc/sys/kernel/random/boot_id}. Elsewhere it is the time at which the first process of the
 * system started (process 1, or 4 on Windows), which the system records once at boot. A host that reports neither is
 * refused, and its user must give an id with the option {@code boot=}.
 */
public final class BootId {

    private static final Path LINUX = Path.of("/proc/sys/kernel/random/boot_id");

    private BootId() {}

    public static String ofThisHost() {
        try {
            return Files.readString(LINUX).strip();
        } catch (IOException notLinux) {
            return startOf(1).or(() -> startOf(4)).orElseThrow(() -> noBootId(notLinux));
        }
    }

    private static Optional<String> startOf(long pid) {
        return ProcessHandle.of(pid)
                .flatMap(process -> process.info().startInstant())
                .map(start -> "boot-" + start.getEpochSecond());
    }

    private static StoreException noBootId(IOException cause) {
        return StoreException.refused(
                "This host reports no id of its boot, so leases that were granted before a reboot could not be"
                        + " recognised. Give each boot another id with the option boot=ID of the sqlite: URL",
                cause);
    }
}
