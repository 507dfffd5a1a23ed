package dev.holdfast.cli;

import dev.holdfast.testkit.process.Signals;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;

/**
 * The tool as its users run it: a process of its own, on a SQLite store in the test's folder. Everything that it
 * leaves running has the folder in its command line, so that it can be found and ended.
 */
final class Tool implements AutoCloseable {

    static final Duration PATIENCE = Duration.ofSeconds(60);

    /**
     * What a shell goes on with until a signal ends it: longer than any test takes, however slow the machine is. It does not
     * outlive the tool that runs it.
     */
    static final String UNTIL_SIGNAL = "exec sleep 600";

    private final Path folder;
    private final Map<String, String> environment = new HashMap<>();
    private final AtomicInteger numbers = new AtomicInteger();

    Tool(Path folder) {
        this.folder = folder;
        environment.put("HOLDFAST_STORE", "sqlite:" + folder.resolve("locks.db"));
    }

    /** The result of a finished process. */
    record Result(int exit, String out, String err) {}

    /** A process that runs. */
    record Running(Process process, Path out, Path err) {

        Result await() {
            try {
                if (!process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
                    throw new AssertionError("The tool did not end. It said: " + Files.readString(err));
                }
                return new Result(process.exitValue(), Files.readString(out), Files.readString(err));
            } catch (IOException | InterruptedException failed) {
                throw new AssertionError(failed);
            }
        }

        void signal(String name) {
            Signals.send(name, process.pid());
        }
    }

    Tool with(String variable, String value) {
        environment.put(variable, value);
        return this;
    }

    Path file(String name) {
        return folder.resolve(name);
    }

    String text(String name) {
        try {
            return Files.exists(file(name)) ? Files.readString(file(name)) : "";
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    Running start(String... arguments) {
        return startWith("", arguments);
    }

    Running startWith(String stdin, String... arguments) {
        List<String> command = java();
        command.addAll(List.of(arguments));
        return startCommand(stdin, command);
    }

    /** What starts the tool, without arguments. */
    List<String> java() {
        return new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-XX:+UseSerialGC",
                "-Xshare:auto",
                // The control pipe goes there.
                "-Djava.io.tmpdir=" + folder,
                "-cp",
                System.getProperty("java.class.path"),
                Main.class.getName()));
    }

    Running startCommand(String stdin, List<String> command) {
        int number = numbers.incrementAndGet();
        Path out = folder.resolve("out-" + number);
        Path err = folder.resolve("err-" + number);
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(folder.toFile())
                .redirectOutput(out.toFile())
                .redirectError(err.toFile());
        builder.environment().putAll(environment);
        try {
            Process process = builder.start();
            try (OutputStream in = process.getOutputStream()) {
                in.write(stdin.getBytes(StandardCharsets.UTF_8));
            }
            return new Running(process, out, err);
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    Result run(String... arguments) {
        return start(arguments).await();
    }

    /**
     * What a shell runs that notes its process id in the file {@code pid}, and exits with this code after {@link #letEnd}. It
     * waits a minute for that at the most, so that a test that fails leaves nothing running for ever.
     */
    static String untilLetEnd(int exit) {
        return "echo $$ > pid; i=0; while [ ! -e end ] && [ $i -lt 1200 ]; do sleep 0.05; i=$((i + 1)); done; exit "
                + exit;
    }

    void letEnd() {
        letEnd("end");
    }

    void letEnd(String name) {
        try {
            Files.createFile(file(name));
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    /** Waits until a file of the folder has text, and returns it. */
    String await(String name) {
        await("the file " + name, () -> !text(name).isBlank());
        return text(name).strip();
    }

    /** Waits until so many lines of a file begin with this, and returns all that do. */
    List<String> awaitLines(String name, String beginning, int count) {
        await(count + " lines of " + name, () -> lines(name, beginning).size() >= count);
        return lines(name, beginning);
    }

    private List<String> lines(String name, String beginning) {
        return text(name).lines().filter(line -> line.startsWith(beginning)).toList();
    }

    static void await(String what, BooleanSupplier condition) {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - deadline > 0) {
                throw new AssertionError("It took too long: " + what);
            }
            sleep(Duration.ofMillis(10));
        }
    }

    static void sleep(Duration time) {
        try {
            Thread.sleep(time.toMillis());
        } catch (InterruptedException stopped) {
            throw new AssertionError(stopped);
        }
    }

    /** The command line of a process; empty if it has ended. */
    static String arguments(ProcessHandle process) {
        try {
            return Files.readString(Path.of("/proc", Long.toString(process.pid()), "cmdline"));
        } catch (IOException ended) {
            return "";
        }
    }

    /** Whether it runs or is stopped. One that nobody has waited for yet is dead, however long the system takes for it. */
    static boolean isAlive(String pid) {
        return state(pid) != 'Z'
                && ProcessHandle.of(Long.parseLong(pid))
                        .map(ProcessHandle::isAlive)
                        .orElse(false);
    }

    /** The state that Linux reports: T for stopped, Z for dead; X if there is none. */
    static char state(String pid) {
        try {
            String stat = Files.readString(Path.of("/proc", pid, "stat"));
            return stat.charAt(stat.lastIndexOf(')') + 2);
        } catch (IOException gone) {
            return 'X';
        }
    }

    /** Processes that belong to this tool and still run: its sentinels and its commands. */
    List<ProcessHandle> leftRunning() {
        String mark = folder.toString();
        long self = ProcessHandle.current().pid();
        return ProcessHandle.allProcesses()
                .filter(process -> process.pid() != self)
                .filter(process -> process.info().commandLine().orElse("").contains(mark))
                .toList();
    }

    List<File> leftPipes() {
        File[] files = folder.toFile().listFiles((in, name) -> name.startsWith("holdfast-"));
        return files == null ? List.of() : List.of(files);
    }

    /** Ends whatever a failed test left running. */
    @Override
    public void close() {
        leftRunning().forEach(ProcessHandle::destroyForcibly);
    }
}
