package dev.holdfast.benchmarks.server;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A server process of our own with its data in a temporary folder. It is ended by its process id and leaves nothing
 * behind.
 */
public final class Daemon implements AutoCloseable {

    private static final int START_SECONDS = 30;
    private static final int STOP_SECONDS = 20;

    private final Path folder;
    private final Process process;
    private final Thread hook = new Thread(this::end, "end-of-daemon");

    private Daemon(Path folder, Process process) {
        this.folder = folder;
        this.process = process;
        // Ctrl-C must leave neither processes nor files behind.
        Runtime.getRuntime().addShutdownHook(hook);
    }

    /** Starts a program and waits until it listens on the port. */
    static Daemon start(Path folder, int port, List<String> command) {
        try {
            Path log = folder.resolve("log");
            Process process = new ProcessBuilder(command)
                    .directory(folder.toFile())
                    .redirectErrorStream(true)
                    .redirectOutput(log.toFile())
                    .start();
            Daemon daemon = new Daemon(folder, process);
            daemon.awaitPort(port, log);
            return daemon;
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    private void awaitPort(int port, Path log) throws IOException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(START_SECONDS);
        while (System.nanoTime() - deadline < 0 && process.isAlive()) {
            try (Socket socket = new Socket()) {
                socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 200);
                return;
            } catch (IOException notYet) {
                java.util.concurrent.locks.LockSupport.parkNanos(20_000_000);
            }
        }
        String said = Files.readString(log);
        close();
        throw new IllegalStateException("A server did not start. It said: " + said);
    }

    /** The first of the paths at which the program can be executed. */
    static String program(String debianPackage, String... paths) {
        for (String path : paths) {
            if (new File(path).canExecute()) {
                return path;
            }
        }
        throw new IllegalStateException(paths[0] + " is missing: apt-get install " + debianPackage);
    }

    /** Runs a program to its end. */
    static void run(Path folder, List<String> command) {
        try {
            Path log = folder.resolve("setup.log");
            Process process = new ProcessBuilder(command)
                    .directory(folder.toFile())
                    .redirectErrorStream(true)
                    .redirectOutput(log.toFile())
                    .start();
            if (!process.waitFor(60, TimeUnit.SECONDS) || process.exitValue() != 0) {
                process.destroyForcibly();
                throw new IllegalStateException(command + " failed: " + Files.readString(log));
            }
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        } catch (InterruptedException stopped) {
            throw new IllegalStateException(stopped);
        }
    }

    /** The words that run a program as this user if we are root: PostgreSQL and MariaDB refuse to run as root. */
    static List<String> as(String user, String... command) {
        List<String> words = new ArrayList<>();
        if (isRoot()) {
            words.addAll(List.of("setpriv", "--reuid", user, "--regid", user, "--init-groups", "--"));
        }
        words.addAll(List.of(command));
        return words;
    }

    static Path folder(String owner) {
        try {
            Path folder = Files.createTempDirectory("holdfast-bench-");
            if (!owner.isEmpty() && isRoot()) {
                run(folder, List.of("chown", owner, folder.toString()));
            }
            return folder;
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    private static boolean isRoot() {
        return "root".equals(System.getProperty("user.name"));
    }

    /** The first line that a program prints. */
    static String firstLine(String... command) {
        try {
            Process process =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            return text.lines().findFirst().orElse("").strip();
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    /** Processor time of the process and of those that it has started and that still run. */
    double cpuSeconds() {
        return Stream.concat(Stream.of(process.toHandle()), process.descendants())
                .mapToDouble(handle -> handle.info()
                        .totalCpuDuration()
                        .map(time -> time.toNanos() / 1e9)
                        .orElse(0.0))
                .sum();
    }

    @Override
    public void close() {
        Runtime.getRuntime().removeShutdownHook(hook);
        end();
    }

    private void end() {
        try {
            // SIGINT is PostgreSQL's fast shutdown; it ends the other servers, too.
            new ProcessBuilder("kill", "-INT", Long.toString(process.pid()))
                    .start()
                    .waitFor();
            if (!process.waitFor(STOP_SECONDS, TimeUnit.SECONDS)) {
                process.descendants().forEach(ProcessHandle::destroyForcibly);
                process.destroyForcibly().waitFor();
            }
        } catch (IOException | InterruptedException failed) {
            process.destroyForcibly();
        }
        delete(folder);
    }

    public static void delete(Path folder) {
        try (Stream<Path> files = Files.walk(folder)) {
            files.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
        } catch (IOException | UncheckedIOException gone) {
            // What is left is in the folder for temporary files.
        }
    }
}
