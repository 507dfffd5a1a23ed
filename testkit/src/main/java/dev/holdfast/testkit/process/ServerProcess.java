package dev.holdfast.testkit.process;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A server as a process of a test: on free ports of the loopback address, with its data in a folder of its own, and not as
 * root if it refuses that. It is ended by its process id. Not thread-safe.
 */
public final class ServerProcess {

    /** A disk in memory: what is tested holds on any disk, and a slow one would only make leases end in the middle. */
    private static final Path FAST = Path.of("/dev/shm");

    /** Where the data are, for figures: {@code -Dholdfast.server.folder=/var/tmp}. */
    private static final String FOLDER = "holdfast.server.folder";

    private static final long ROOM = 2L << 30;
    private static final int END_SECONDS = 20;
    private static final long START_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final long ASK_EVERY_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private final Path folder;
    private final String user;
    private final int port = Ports.reserve();
    private @Nullable Process process;

    /** For a server that runs as anybody. */
    public ServerProcess(String name) {
        this(name, "");
    }

    /**
     * For a server that root may not run.
     *
     * @param name what its folder is called after
     * @param user whom a server of this kind runs as on this system, if the test is run by root
     */
    public ServerProcess(String name, String user) {
        this.user = user;
        try {
            folder = Files.createTempDirectory(parent(), "holdfast-" + name);
            if (isToChange()) {
                run(List.of("chown", user, folder.toString()));
            }
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    private static Path parent() throws IOException {
        String wanted = System.getProperty(FOLDER);
        if (wanted != null) {
            return Path.of(wanted);
        }
        boolean isGood = Files.isWritable(FAST) && Files.getFileStore(FAST).getUsableSpace() > ROOM;
        return isGood ? FAST : Path.of(System.getProperty("java.io.tmpdir"));
    }

    /** Fails with a message that says what to install if a program is not there. */
    public static void require(Path program, String debianPackage) {
        if (!Files.isExecutable(program)) {
            throw new AssertionError("These tests need " + program + ": apt-get install " + debianPackage);
        }
    }

    /** Where it has its data and settings. */
    public Path folder() {
        return folder;
    }

    /** The port that is kept for it. */
    public int port() {
        return port;
    }

    /**
     * Runs a program as the server's user, to its end.
     *
     * @throws AssertionError with what it printed, if it fails
     */
    public void runAsUser(String... command) {
        run(asUser(List.of(command)));
    }

    /** Starts it, perhaps again. Whether it is ready, the caller has to ask it. */
    public void start(String... command) {
        start(List.of(command));
    }

    /** Starts it, perhaps again. Whether it is ready, the caller has to ask it. */
    public void start(List<String> command) {
        try {
            process = new ProcessBuilder(asUser(command))
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.appendTo(log().toFile()))
                    .directory(folder.toFile())
                    .start();
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    /**
     * Waits until it is ready.
     *
     * @param isReady asks it
     * @throws AssertionError with what it printed, if it ends, or is not ready within a minute
     */
    public void awaitReady(BooleanSupplier isReady) {
        long start = System.nanoTime();
        while (!isReady.getAsBoolean()) {
            if (!isAlive() || System.nanoTime() - start > START_NANOS) {
                throw new AssertionError(folder.getFileName() + " did not start: " + logText());
            }
            LockSupport.parkNanos(ASK_EVERY_NANOS);
        }
    }

    public boolean isAlive() {
        return process != null && process.isAlive();
    }

    public long pid() {
        return started().pid();
    }

    private Process started() {
        return Objects.requireNonNull(process, "it was never started");
    }

    /** What it has printed since it was made. */
    public String logText() {
        try {
            return Files.readString(log());
        } catch (IOException failure) {
            return failure.toString();
        }
    }

    private Path log() {
        return folder.resolveSibling(folder.getFileName() + ".log");
    }

    /** Sends a signal to the server alone: its helpers see that it is gone, as after a crash. */
    public void signal(String name) {
        // If it is gone by now, that is as well.
        Signals.send(name, pid());
    }

    /** Waits for the end of the server and of all its helpers. */
    public void awaitEnd(List<ProcessHandle> helpers) {
        try {
            if (!started().waitFor(END_SECONDS, TimeUnit.SECONDS)) {
                started().destroyForcibly().waitFor();
            }
            for (ProcessHandle helper : helpers) {
                helper.onExit().get(END_SECONDS, TimeUnit.SECONDS);
            }
        } catch (Exception failure) {
            throw new AssertionError(failure);
        }
    }

    /** Processes that it has started. */
    public List<ProcessHandle> helpers() {
        return started().toHandle().descendants().toList();
    }

    /** Ends it at once, also if it is frozen, with all that it started. */
    public void kill() {
        List<ProcessHandle> helpers = helpers();
        signal("KILL");
        awaitEnd(helpers);
    }

    /** Removes its data. */
    public void removeFolder() {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
            Files.deleteIfExists(log());
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    // setpriv becomes the program, so that the process id is the server's.
    private List<String> asUser(List<String> command) {
        if (!isToChange()) {
            return command;
        }
        List<String> whole = new ArrayList<>(List.of("setpriv", "--reuid=" + user, "--regid=" + user, "--init-groups"));
        whole.addAll(command);
        return whole;
    }

    private boolean isToChange() {
        return !user.isEmpty() && "root".equals(System.getProperty("user.name"));
    }

    private static void run(List<String> command) {
        try {
            Process process =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (process.waitFor() != 0) {
                throw new AssertionError(String.join(" ", command) + " failed: " + said);
            }
        } catch (IOException | InterruptedException failure) {
            throw new AssertionError(failure);
        }
    }
}
