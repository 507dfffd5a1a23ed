package dev.holdfast.cli.process;

import java.io.File;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * What is left of a command's session when its first process has ended. On Linux it is the whole session, read from
 * {@code /proc}; elsewhere it is the process group, for which a shell asks.
 *
 * <p>A dead process that nobody has waited for is no part of it: where the tool is the first process of a container,
 * nobody ever waits for those that have lost their parent.
 */
final class CommandSession {

    static final Path PROC = Path.of("/proc");

    private final Path proc;
    private final long id;
    private final boolean listed;

    /**
     * @param proc where the system lists its processes
     * @param id of the session, its group, and its first process
     */
    CommandSession(Path proc, long id) {
        this.proc = proc;
        this.id = id;
        this.listed = isOfThisNamespace(proc);
    }

    // In a container with the /proc of its host, the processes there have other numbers than here.
    private static boolean isOfThisNamespace(Path proc) {
        try {
            return Files.readString(proc.resolve("self/stat"), StandardCharsets.ISO_8859_1)
                    .startsWith(ProcessHandle.current().pid() + " ");
        } catch (IOException noSuchSystem) {
            return false;
        }
    }

    /** Whether none of it runs any more. If that cannot be found out, some of it may. */
    boolean isEmpty() {
        try {
            return listed ? running().isEmpty() : !signal("0");
        } catch (IOException | DirectoryIteratorException unknown) {
            return false;
        }
    }

    /** Kills what runs. Something that it starts meanwhile may be left, so that it must be called until it is empty. */
    void kill() {
        try {
            if (listed) {
                running().forEach(pid -> ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly));
            } else {
                signal("KILL");
            }
        } catch (IOException | DirectoryIteratorException unknown) {
            // It will be called again.
        }
    }

    /** Whether a process, which may have left the session, still runs. */
    boolean isRunning(ProcessHandle process) {
        return process.isAlive() && !(listed && Stat.of(proc, process.pid()).isDead());
    }

    private List<Long> running() throws IOException {
        List<Long> found = new ArrayList<>();
        try (DirectoryStream<Path> folders = Files.newDirectoryStream(proc, CommandSession::isOfAProcess)) {
            for (Path folder : folders) {
                long pid = Long.parseLong(folder.getFileName().toString());
                Stat stat = Stat.of(proc, pid);
                if (stat.session == id && !stat.isDead()) {
                    found.add(pid);
                }
            }
        }
        return found;
    }

    private static boolean isOfAProcess(Path folder) {
        return Character.isDigit(folder.getFileName().toString().charAt(0));
    }

    /** Sends a signal to the group; 0 only asks whether there is one. */
    private boolean signal(String name) throws IOException {
        Process kill = new ProcessBuilder("/bin/sh", "-c", "kill -s " + name + " -- -" + id)
                .redirectInput(Redirect.from(new File("/dev/null")))
                .redirectOutput(Redirect.DISCARD)
                .redirectError(Redirect.DISCARD)
                .start();
        try {
            return kill.waitFor() == 0;
        } catch (InterruptedException nobodyInterruptsTheGuard) {
            throw new IllegalStateException(nobodyInterruptsTheGuard);
        }
    }

    /** What Linux reports of a process. */
    private record Stat(char state, long session, long threads) {

        private static final Stat GONE = new Stat('X', -1, 0);

        static Stat of(Path proc, long pid) {
            try {
                String text = Files.readString(proc.resolve(pid + "/stat"), StandardCharsets.ISO_8859_1);
                // pid (name) state ppid group session ... threads ...; the name may contain any character.
                String[] fields = text.substring(text.lastIndexOf(')') + 2).split(" ");
                return new Stat(fields[0].charAt(0), Long.parseLong(fields[3]), Long.parseLong(fields[17]));
            } catch (IOException gone) {
                return GONE;
            }
        }

        /** A process whose first thread has ended looks dead, but goes on if it has others. */
        boolean isDead() {
            return state == 'X' || (state == 'Z' && threads <= 1);
        }
    }
}
