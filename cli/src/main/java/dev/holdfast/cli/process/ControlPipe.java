package dev.holdfast.cli.process;

import dev.holdfast.cli.output.ExitCode;
import dev.holdfast.cli.output.Failure;
import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;

/**
 * The pipe to the sentinel. It has a name, because a child of the JVM inherits standard input, output and error
 * only, and those belong to the command. The sentinel removes the name as soon as it has opened it.
 *
 * <p>The pipe is closed when the process ends: from this the sentinel learns that the tool was killed.
 */
public final class ControlPipe implements AutoCloseable {

    private static final int TRIES = 100;

    private final File fifo;
    private final RandomAccessFile writer;

    private ControlPipe(File fifo, RandomAccessFile writer) {
        this.fifo = fifo;
        this.writer = writer;
    }

    public static ControlPipe create() {
        try {
            Path folder = newFolder(Path.of(System.getProperty("java.io.tmpdir")));
            Path fifo = folder.resolve("control");
            Process mkfifo = new ProcessBuilder("mkfifo", "-m", "600", fifo.toString())
                    .redirectInput(Redirect.from(new File("/dev/null")))
                    .redirectError(Redirect.INHERIT)
                    .start();
            if (mkfifo.waitFor() != 0) {
                Files.delete(folder);
                throw new IOException("mkfifo failed");
            }
            // It is opened for reading and writing, because opening a pipe for writing only waits for its reader.
            return new ControlPipe(fifo.toFile(), new RandomAccessFile(fifo.toFile(), "rw"));
        } catch (IOException failed) {
            throw new Failure(
                    ExitCode.INTERNAL,
                    "cannot make a pipe in " + System.getProperty("java.io.tmpdir") + ": is it writable? (" + failed
                            + ")",
                    failed);
        } catch (InterruptedException nobodyInterruptsThis) {
            throw new IllegalStateException(nobodyInterruptsThis);
        }
    }

    // This is not Files.createTempDirectory, whose secure random numbers cost some milliseconds. mkdir(2) refuses a
    // name that exists, so that whoever guesses the name can hinder this process but cannot make it use another
    // folder.
    private static Path newFolder(Path parent) throws IOException {
        for (int i = 0; ; i++) {
            String name = "holdfast-" + ProcessHandle.current().pid() + "-" + Long.toString(System.nanoTime(), 36);
            try {
                return Files.createDirectory(
                        parent.resolve(name),
                        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            } catch (FileAlreadyExistsException taken) {
                if (i == TRIES) {
                    throw taken;
                }
            }
        }
    }

    String path() {
        return fifo.getPath();
    }

    /** Sends a line. It does not block, because a pipe has room for some thousand lines. */
    void send(String line) {
        try {
            writer.write((line + '\n').getBytes(StandardCharsets.US_ASCII));
        } catch (IOException closed) {
            // The pipe is closed: the command has ended, and nothing is left to be signalled.
        }
    }

    @Override
    public void close() {
        try {
            writer.close();
        } catch (IOException harmless) {
            // The descriptor is gone in any case.
        }
        fifo.delete();
        fifo.getParentFile().delete();
    }
}
