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
 * A server process of a test. It uses free ports of the loopback address and its own data folder, and does not run
 * as root if it refuses that. It is ended by its process id, and does not outlive this JVM. Not thread-safe.
 */
public final class ServerProcess {

    /**
     * A disk in memory. What is tested holds on any disk, and on a slow one leases would end in the middle of a
     * test.
     */
    private static final Path FAST = Path.of("/dev/shm");

    /** The system property that sets the data folder, for measurements: {@code -Dholdfast.server.folder=/var/tmp}. */
    private static final String FOLDER = "holdfast.server.folder";

    private static final long ROOM = 2L << 30;
    private static final int END_SECONDS = 20;
    private static final long START_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final long ASK_EVERY_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private final Path folder;
    private final String user;
    private final int port = Ports.reserve();
    private List<String> network = List.of();
    private List<String> prefix = List.of();
    private String lastSignal = "KILL";
    private volatile @Nullable Process process;
    private final Thread endWithThisJvm = new Thread(this::leaveNothing);

    /** Prepares a server that may run as any user. */
    public ServerProcess(String name) {
        this(name, "");
    }

    /**
     * Prepares a server that must not run as root.
     *
     * @param name part of the name of its folder
     * @param user the user as which a server of this kind runs on this system, if the test is run by root
     */
    public ServerProcess(String name, String user) {
        this(name, user, parent());
    }

    /** @param parent the folder below which it has its own, such as a {@link SmallDisk} */
    public ServerProcess(String name, String user, Path parent) {
        this.user = user;
        try {
            folder = Files.createTempDirectory(parent, "holdfast-" + name);
            if (isToChange()) {
                run(folder, List.of("chown", user, folder.toString()));
            }
            Runtime.getRuntime().addShutdownHook(endWithThisJvm);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    /** Makes a folder for the data of a server, in memory if the system has room for that. */
    public static Path newFolder(String name) throws IOException {
        return Files.createTempDirectory(parent(), "holdfast-" + name);
    }

    private static Path parent() {
        String wanted = System.getProperty(FOLDER);
        if (wanted != null) {
            return Path.of(wanted);
        }
        try {
            boolean isGood = Files.isWritable(FAST) && Files.getFileStore(FAST).getUsableSpace() > ROOM;
            return isGood ? FAST : Path.of(System.getProperty("java.io.tmpdir"));
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    /** From now on it is started with this before its command, such as {@code env NAME=VALUE}. It must replace itself by it. */
    public void startBehind(List<String> prefix) {
        this.prefix = List.copyOf(prefix);
    }

    /** If this JVM ends before the server, the server is ended with this signal instead of KILL. */
    public void endWithThisJvmBy(String signal) {
        lastSignal = signal;
    }

    /** From now on it is started with this before all else, which needs root: the prefix of a network. */
    public void startIn(List<String> network) {
        this.network = List.copyOf(network);
    }

    /** Fails with a message that names the package to install if a program is missing. */
    public static void require(Path program, String debianPackage) {
        if (!Files.isExecutable(program)) {
            throw new AssertionError("These tests need " + program + ": apt-get install " + debianPackage);
        }
    }

    /** The folder with its data and settings. */
    public Path folder() {
        return folder;
    }

    /** The port that is reserved for it. */
    public int port() {
        return port;
    }

    /**
     * Runs a program as the server's user, and waits for its end.
     *
     * @throws AssertionError with what it printed, if it fails
     */
    public void runAsUser(String... command) {
        run(folder, asUser(List.of(command)));
    }

    /** Starts the server, possibly again. The caller has to check whether it is ready. */
    public void start(String... command) {
        start(List.of(command));
    }

    /** Starts the server, possibly again. The caller has to check whether it is ready. */
    public void start(List<String> command) {
        List<String> inside = new ArrayList<>(prefix);
        inside.addAll(command);
        List<String> whole = new ArrayList<>(network);
        whole.addAll(asUser(inside));
        try {
            process = new ProcessBuilder(whole)
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.appendTo(log().toFile()))
                    .directory(folder.toFile())
                    .start();
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    /**
     * Waits until the server is ready.
     *
     * @param isReady checks whether the server is ready
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
        Process current = process;
        return current != null && current.isAlive();
    }

    public long pid() {
        return started().pid();
    }

    private Process started() {
        return Objects.requireNonNull(process, "it was never started");
    }

    /** All that the server has printed since this object was created. */
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

    /** Sends a signal to the server process only. Its helper processes notice that it is gone, as after a crash. */
    public void signal(String name) {
        // If the server has ended already, that is fine.
        Signals.send(name, pid());
    }

    /** Waits for the end of the server and of all its helper processes. */
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

    /** The processes that the server has started. */
    public List<ProcessHandle> helpers() {
        return started().toHandle().descendants().toList();
    }

    /** Ends the server at once, even if it is stopped, together with all processes that it has started. */
    public void kill() {
        end("KILL");
    }

    /** Ends the server with a signal, and waits until it has ended together with all processes that it has started. */
    public void end(String signal) {
        List<ProcessHandle> helpers = helpers();
        signal(signal);
        awaitEnd(helpers);
    }

    /** A test run that is stopped does not close its servers. */
    private void leaveNothing() {
        if (isAlive()) {
            end(lastSignal);
        }
        deleteFolder();
    }

    /** Deletes its data folder and its log. */
    public void removeFolder() {
        try {
            Runtime.getRuntime().removeShutdownHook(endWithThisJvm);
        } catch (IllegalStateException ending) {
            return; // the hook deletes it
        }
        deleteFolder();
    }

    private void deleteFolder() {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
            Files.deleteIfExists(log());
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    // setpriv replaces itself by the program, so the process id is that of the server.
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

    /** Runs a program in a folder to its end; fails with what it printed. */
    static void run(Path folder, List<String> command) {
        try {
            Process process = new ProcessBuilder(command)
                    .directory(folder.toFile())
                    .redirectErrorStream(true)
                    .start();
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (process.waitFor() != 0) {
                throw new AssertionError(String.join(" ", command) + " failed: " + said);
            }
        } catch (IOException | InterruptedException failure) {
            throw new AssertionError(failure);
        }
    }
}
