package dev.holdfast.benchmarks.soak;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The connections of this process, by the port at the other end, and all its file handles, as Linux lists them. */
final class Sockets {

    private static final Path HANDLES = Path.of("/proc/self/fd");
    private static final List<Path> TABLES = List.of(Path.of("/proc/self/net/tcp"), Path.of("/proc/self/net/tcp6"));
    private static final List<Path> DATAGRAMS = List.of(Path.of("/proc/self/net/udp"), Path.of("/proc/self/net/udp6"));

    /** What a socket for datagrams is called. */
    static final String DATAGRAM = "socket for datagrams";

    /** The number in the name of a socket or a pipe. */
    private static final Pattern NUMBER = Pattern.compile("(?<=^(socket|pipe|anon_inode):)\\[\\d+]");

    private static final int NONE = -1;
    private static final Path UNIX = Path.of("/proc/self/net/unix");
    private static final int UNIX_INODE = 6;
    private static final int REMOTE = 2;
    private static final int INODE = 9;
    private static final int HEXADECIMAL = 16;

    private Sockets() {}

    /** Whether the system has these lists. */
    static boolean canBeCounted() {
        return Files.isDirectory(HANDLES);
    }

    /** How many connections this process has to these ports, closed ones that were not given back included. */
    static int to(Set<Integer> ports) {
        Map<String, Integer> remotePorts = remotePorts();
        return (int) targets()
                .map(target -> remotePorts.getOrDefault(target, NONE))
                .filter(ports::contains)
                .count();
    }

    /** The port at the other end of each connection of this machine, by what a handle of it is called. */
    private static Map<String, Integer> remotePorts() {
        Map<String, Integer> found = new HashMap<>();
        for (Path table : TABLES) {
            rows(table).forEach(fields -> {
                String port = fields[REMOTE].substring(fields[REMOTE].indexOf(':') + 1);
                found.put(socket(fields[INODE]), Integer.parseInt(port, HEXADECIMAL));
            });
        }
        return found;
    }

    private static List<String[]> rows(Path table) {
        try (Stream<String> lines = Files.lines(table)) {
            return lines.skip(1).map(line -> line.strip().split("\\s+")).toList();
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    private static String socket(String inode) {
        return "socket:[" + inode + "]";
    }

    /** What this process has open, by kind; but for jars, which the JVM opens when a class is needed first. */
    static List<String> handles() {
        Map<String, String> kinds = new HashMap<>();
        remotePorts().forEach((socket, port) -> kinds.put(socket, "socket to port " + port));
        rows(UNIX).forEach(fields -> kinds.put(socket(fields[UNIX_INODE]), "socket inside this machine"));
        DATAGRAMS.forEach(table -> rows(table).forEach(fields -> kinds.put(socket(fields[INODE]), DATAGRAM)));
        return targets()
                .filter(target -> !target.endsWith(".jar"))
                .map(target -> kinds.getOrDefault(target, NUMBER.matcher(target).replaceAll("")))
                .toList();
    }

    private static Stream<String> targets() {
        try (Stream<Path> handles = Files.list(HANDLES)) {
            return handles.map(Sockets::target).filter(target -> !target.isEmpty()).toList().stream();
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    private static String target(Path handle) {
        try {
            return Files.readSymbolicLink(handle).toString();
        } catch (IOException closedMeanwhile) {
            return "";
        }
    }
}
