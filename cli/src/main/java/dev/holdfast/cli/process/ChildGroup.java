package dev.holdfast.cli.process;

import dev.holdfast.cli.output.ExitCode;
import dev.holdfast.cli.output.Failure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The command, with a process group of its own that can be signalled as a whole, and a sentinel that kills the group
 * if this process dies. See {@code launch.sh} and {@code sentinel.sh}.
 *
 * <pre>
 *   tool -- control pipe --> sentinel          (a session of its own)
 *    '--- fork, exec ------> command and its children   (a session of their own; the command's pid is the group)
 * </pre>
 *
 * The command is a direct child of the JVM, so that its exit status arrives unchanged. A process that leaves the
 * session by setsid(2) is found as a descendant, unless its parent ended before: then it cannot be found.
 */
public final class ChildGroup {

    private static final String SHELL = "/bin/sh";

    private final ControlPipe control;
    private final Process process;
    private final CommandSession session;
    /**
     * The descendants when a signal was to end the group. They are remembered, because the children of a dead process
     * are no longer its descendants.
     */
    private final Set<ProcessHandle> signalled = ConcurrentHashMap.newKeySet();
    /** Whether the session is over: its number may be that of another one by now, so that it is signalled no more. */
    private volatile boolean sessionIsOver;

    private ChildGroup(ControlPipe control, Process process) {
        this.control = control;
        this.process = process;
        this.session = new CommandSession(CommandSession.PROC, process.pid());
    }

    /**
     * Starts the command with the standard streams of this process.
     *
     * @param changes variables to set; an empty value removes one
     */
    public static ChildGroup start(
            ControlPipe control, NewSession session, List<String> command, Map<String, String> changes) {
        List<String> argv = new ArrayList<>(session.words());
        argv.add(SHELL);
        argv.add("-c");
        argv.add(ScriptText.of("launch.sh"));
        argv.add("holdfast");
        argv.add(control.path());
        argv.add(session.shell());
        argv.add(ScriptText.of("sentinel.sh"));
        argv.add(Long.toString(ProcessHandle.current().pid()));
        argv.add(isInBackground() ? "background" : "foreground");
        ProcessBuilder builder = new ProcessBuilder(argv).inheritIO();
        Map<String, String> environment = builder.environment();
        CharacterSet.giveBackLocale(environment);
        changes.forEach((name, value) -> {
            if (value.isEmpty()) {
                environment.remove(name);
            } else {
                environment.put(name, value);
            }
        });
        argv.add(OddNames.replace(environment));
        argv.addAll(command);
        try {
            return new ChildGroup(control, builder.start());
        } catch (IOException failed) {
            throw new Failure(ExitCode.INTERNAL, "cannot start " + SHELL + ": " + failed.getMessage(), failed);
        }
    }

    /**
     * Whether this process is a background job of a terminal. Its child is not in the terminal's session, so that
     * nothing would stop it from reading input that is meant for another program.
     */
    private static boolean isInBackground() {
        try {
            // pid (name) state ppid group session tty foreground-group ...; the name may contain any character.
            String stat = Files.readString(Path.of("/proc/self/stat"));
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", 7);
            return !fields[5].equals("-1") && !fields[5].equals(fields[2]);
        } catch (IOException | RuntimeException noSuchSystem) {
            return false;
        }
    }

    /** The command's process id, which is also that of its group. */
    public long pid() {
        return process.pid();
    }

    /** Waits for the command. The tool's own signals interrupt the thread, which must not end this wait. */
    public int await() {
        while (true) {
            try {
                return process.waitFor();
            } catch (InterruptedException signalled) {
                // The interrupting thread has forwarded the signal to the group; the command decides whether it
                // ends.
            }
        }
    }

    /** Sends a signal, by its name without SIG, to the whole group. */
    public void signal(String name) {
        if (!sessionIsOver) {
            control.send(name);
        }
    }

    /** Stops the group, then this process, as Ctrl-Z does; the sentinel does it, since a JVM cannot stop itself. */
    void pause() {
        signal("pause");
    }

    /**
     * Loads the classes that {@link #kill} needs: in a new JVM this takes longer than the margin of a short lease.
     */
    public void warmUp() {
        process.descendants().forEach(ProcessHandle::isAlive);
        boolean ignored = session.isEmpty();
    }

    /** Asks the group to end. */
    void terminate() {
        process.descendants().forEach(signalled::add);
        signal("TERM");
    }

    /** Kills the group, and those descendants that have left it. */
    public void kill() {
        process.descendants().forEach(signalled::add);
        signalled.forEach(ProcessHandle::destroyForcibly);
        if (!isSessionOver()) {
            signal("KILL");
            process.destroyForcibly();
            session.kill();
        }
    }

    private boolean isSessionOver() {
        if (!sessionIsOver && !process.isAlive()) {
            sessionIsOver = session.isEmpty();
        }
        return sessionIsOver;
    }

    /**
     * Whether nothing is left that could still work: nothing in the session, and none of the descendants that had
     * left it when a signal was to end the group.
     */
    boolean isGone() {
        return isSessionOver() && signalled.stream().noneMatch(session::isRunning);
    }

    /** Ends the sentinel; call it when nothing is to be signalled any more. What the command left in the background keeps running. */
    public void dismiss() {
        control.send("end");
    }
}
