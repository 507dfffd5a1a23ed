package dev.holdfast.testkit.process;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Assumptions;

/**
 * A file system of its own in memory, which a test fills while a server has its data on it. It is mounted, so the test must be
 * run by root, in a place where root may do that; elsewhere it is skipped with a message. Used by one thread at a time.
 */
public final class SmallDisk implements AutoCloseable {

    private static final String FILLER = "filler";
    /** A page of memory is the smallest piece that the system hands out. */
    private static final List<Integer> BLOCKS = List.of(1 << 20, 1 << 12);

    private final Path folder;

    private SmallDisk(Path folder) {
        this.folder = folder;
    }

    /** Mounts one of this size. The servers of all users may write to it. */
    public static SmallDisk mount(int megabytes) {
        try {
            Path folder = Files.createTempDirectory("holdfast-disk");
            String refused =
                    run("mount", "-t", "tmpfs", "-o", "size=" + megabytes + "m,mode=777", "tmpfs", folder.toString());
            if (!refused.isEmpty()) {
                Files.delete(folder);
                Assumptions.abort(
                        "A full disk needs a file system that the test may mount, and this is refused: " + refused);
            }
            return new SmallDisk(folder);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    public Path folder() {
        return folder;
    }

    /** Leaves no room. */
    public void fill() {
        try (OutputStream out = Files.newOutputStream(folder.resolve(FILLER))) {
            for (int size : BLOCKS) {
                writeAll(out, new byte[size]);
            }
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    private static void writeAll(OutputStream out, byte[] block) {
        while (true) {
            try {
                out.write(block);
            } catch (IOException full) {
                return;
            }
        }
    }

    /** Gives the room back. */
    public void free() {
        try {
            Files.deleteIfExists(folder.resolve(FILLER));
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    /** Unmounts it, with all that is on it. Servers must have ended. */
    @Override
    public void close() {
        try {
            String refused = run("umount", folder.toString());
            if (!refused.isEmpty()) {
                throw new AssertionError("The file system at " + folder + " is still mounted: " + refused);
            }
            Files.delete(folder);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    /** What a command prints if it fails, or nothing. */
    private static String run(String... command) throws IOException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        try {
            return process.waitFor() == 0 ? "" : "exit code " + process.exitValue() + ", " + said.strip();
        } catch (InterruptedException failure) {
            throw new AssertionError(failure);
        }
    }
}
