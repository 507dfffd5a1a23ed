package dev.holdfast.testkit.process;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Another JVM on this machine, with the class path of this one, for tests that need more than threads. The test
 * sends lines to its standard input and reads lines from its standard output, and can kill and pause it.
 *
 * <p>Every wait is bounded, and its error contains the last output of the child on both streams. {@link #close()}
 * always ends the child, even a paused one; so does the end of this JVM. This needs a system with {@code kill} and
 * signals.
 */
public final class ChildJvm implements AutoCloseable {

    /** How long to wait for a line, an exit or a signal, unless a method has a parameter for it. */
    public static final Duration PATIENCE = Duration.ofSeconds(60);

    private static final int REMEMBERED_LINES = 50;

    /** A child lives for some seconds: the second compiler and the threads of a larger collector only cost it time. */
    private static final List<String> SHORT_LIVED = List.of("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC");

    private final String title;
    private final Process process;
    private final BufferedWriter input;
    /** The lines of its standard output, and an empty entry at the end. */
    private final BlockingQueue<Optional<String>> output = new LinkedBlockingQueue<>();

    private final Deque<String> lastLines = new ArrayDeque<>();
    private final Thread endWithThisJvm;

    private ChildJvm(String title, Process process) {
        this.title = title;
        this.process = process;
        this.input = new BufferedWriter(new OutputStreamWriter(process.getOutputStream(), StandardCharsets.UTF_8));
        this.endWithThisJvm = new Thread(process::destroyForcibly);
        Runtime.getRuntime().addShutdownHook(endWithThisJvm);
        readLines(process.getInputStream(), "", output);
        readLines(process.getErrorStream(), "stderr: ", null);
    }

    /** Starts {@code main} with arguments, in a JVM that is made for a short life. */
    public static ChildJvm start(Class<?> main, String... arguments) {
        return startSmall(List.of(), main, arguments);
    }

    /** As {@link #start(Class, String...)}, with further options for its JVM, such as {@code -Xmx64m}. */
    public static ChildJvm startSmall(List<String> jvmOptions, Class<?> main, String... arguments) {
        return startSmallBehind(List.of(), jvmOptions, main, arguments);
    }

    /** Starts {@code main} with just these options for its JVM, as a program that computes for long needs it. */
    public static ChildJvm start(List<String> jvmOptions, Class<?> main, String... arguments) {
        return startBehind(List.of(), jvmOptions, main, arguments);
    }

    /** As {@link #startSmall}, with a command in front that replaces itself by the JVM, such as {@code env NAME=VALUE}. */
    public static ChildJvm startSmallBehind(
            List<String> prefix, List<String> jvmOptions, Class<?> main, String... arguments) {
        List<String> options = new ArrayList<>(SHORT_LIVED);
        options.addAll(jvmOptions);
        return startBehind(prefix, options, main, arguments);
    }

    /** As {@link #start(List, Class, String...)}, with a command in front that replaces itself by the JVM. */
    public static ChildJvm startBehind(
            List<String> prefix, List<String> jvmOptions, Class<?> main, String... arguments) {
        List<String> command = new ArrayList<>(prefix);
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(jvmOptions);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
        command.addAll(List.of(arguments));
        try {
            String title = main.getSimpleName() + " " + String.join(" ", arguments);
            return new ChildJvm(title.strip(), new ProcessBuilder(command).start());
        } catch (IOException failure) {
            throw new UncheckedIOException("Could not start a JVM for " + main.getName(), failure);
        }
    }

    /** The process id. */
    public long pid() {
        return process.pid();
    }

    /** Whether the process exists, running or paused. */
    public boolean isAlive() {
        return process.isAlive();
    }

    /** Sends a line to its standard input. Any thread may. */
    public synchronized void send(String line) {
        try {
            input.write(line);
            input.newLine();
            input.flush();
        } catch (IOException failure) {
            throw new AssertionError(this + " does not read its input. " + lastOutput(), failure);
        }
    }

    /** Waits for the next line of its standard output. */
    public String readLine() {
        return readLine(PATIENCE);
    }

    /**
     * Waits for the next line of its standard output.
     *
     * @throws AssertionError if none comes in time
     */
    public String readLine(Duration patience) {
        return readLine(patience, "a line");
    }

    /** Waits for a line that begins with {@code beginning}, skips the lines before it, and returns the rest of it. */
    public String expect(String beginning) {
        return expect(beginning, PATIENCE);
    }

    /** Waits for a line that begins with {@code beginning}, skips the lines before it, and returns the rest of it. */
    public String expect(String beginning, Duration patience) {
        long deadline = System.nanoTime() + patience.toNanos();
        while (true) {
            Duration left = Duration.ofNanos(deadline - System.nanoTime());
            String line = readLine(left, "\"" + beginning + "\"");
            if (line.startsWith(beginning)) {
                return line.substring(beginning.length()).strip();
            }
        }
    }

    /** Waits for the end of the process and returns its exit code. */
    public int awaitExit() {
        try {
            if (!process.waitFor(PATIENCE.toNanos(), TimeUnit.NANOSECONDS)) {
                throw new AssertionError(this + " did not end within " + PATIENCE + ". " + lastOutput());
            }
            return process.exitValue();
        } catch (InterruptedException interrupted) {
            throw new AssertionError("Interrupted while waiting for the end of " + this, interrupted);
        }
    }

    /**
     * Ends the process at once (SIGKILL): no shutdown hook and no finally block runs. Returns when the process has
     * ended.
     */
    public void kill() {
        process.destroyForcibly();
        awaitExit();
    }

    /** Stops all its threads (SIGSTOP). Returns when they have stopped. */
    public void pause() {
        signal("STOP");
    }

    /** Continues the process after {@link #pause()} (SIGCONT). */
    public void resume() {
        signal("CONT");
    }

    @Override
    public void close() {
        kill();
        Runtime.getRuntime().removeShutdownHook(endWithThisJvm);
    }

    @Override
    public String toString() {
        return "child JVM " + pid() + " (" + title + ")";
    }

    private String readLine(Duration patience, String what) {
        try {
            Optional<String> line = output.poll(patience.toNanos(), TimeUnit.NANOSECONDS);
            if (line == null) {
                throw new AssertionError(this + " did not print " + what + " in time. " + lastOutput());
            }
            if (line.isEmpty()) {
                output.add(line);
                throw new AssertionError(this + " has closed its standard output. " + lastOutput());
            }
            return line.get();
        } catch (InterruptedException interrupted) {
            throw new AssertionError("Interrupted while waiting for " + this, interrupted);
        }
    }

    private void signal(String name) {
        if (!Signals.send(name, pid())) {
            throw new AssertionError("SIG" + name + " could not be sent to " + this + ". " + lastOutput());
        }
    }

    private void readLines(InputStream stream, String mark, @Nullable BlockingQueue<Optional<String>> lines) {
        Thread reader = new Thread(() -> {
            try (BufferedReader text = new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8))) {
                for (String line = text.readLine(); line != null; line = text.readLine()) {
                    remember(mark + line);
                    if (lines != null) {
                        lines.add(Optional.of(line));
                    }
                }
            } catch (IOException closed) {
                remember(mark + "(closed: " + closed.getMessage() + ")");
            } finally {
                if (lines != null) {
                    lines.add(Optional.empty());
                }
            }
        });
        reader.setName("reader of " + pid());
        reader.setDaemon(true);
        reader.start();
    }

    private void remember(String line) {
        synchronized (lastLines) {
            lastLines.addLast(line);
            if (lastLines.size() > REMEMBERED_LINES) {
                lastLines.removeFirst();
            }
        }
    }

    /** Whether it is alive, and the last lines that it printed on both streams: for messages of failures. */
    public String lastOutput() {
        String state = isAlive() ? "It is alive" : "It ended with exit code " + process.exitValue();
        synchronized (lastLines) {
            return state + ". It printed: "
                    + (lastLines.isEmpty() ? "nothing" : String.join(System.lineSeparator(), lastLines));
        }
    }
}
