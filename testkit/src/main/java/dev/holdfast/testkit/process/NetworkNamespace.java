package dev.holdfast.testkit.process;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Assumptions;

/**
 * A network of its own for one process, with one cable to this machine, which the test pulls out: then the system drops each
 * packet, and its own timers decide when connections go on or end. It needs root, in a place where root may do that. Used by one
 * thread at a time.
 */
public final class NetworkNamespace implements AutoCloseable {

    /** What a process in it calls the end of the second cable. */
    static final String SECOND = "second";

    private static final String PROGRAM = "ip";

    /** A network has four addresses, so so many of them differ in the last part of their addresses only. */
    private static final int NETWORKS_OF_A_PART = 64;

    private static final String FIRST_PARTS = "10.213.";

    private final String name;
    private final String cable;
    private final String host;
    private final String guest;

    private NetworkNamespace(int number) {
        name = "holdfast-" + number;
        cable = "hf" + number;
        int network = number - Ports.FIRST;
        String parts = FIRST_PARTS + network / NETWORKS_OF_A_PART + ".";
        int last = network % NETWORKS_OF_A_PART * 4;
        host = parts + (last + 1);
        guest = parts + (last + 2);
        ip("netns", "add", name);
        ip("link", "add", cable, "type", "veth", "peer", "name", "cable", "netns", name);
        ip("address", "add", host + "/30", "dev", cable);
        ip("link", "set", cable, "up");
        ip("-n", name, "address", "add", guest + "/30", "dev", "cable");
        ip("-n", name, "link", "set", "cable", "up");
        ip("-n", name, "link", "set", "lo", "up");
    }

    /** Skips the test with a message where namespaces cannot be made. */
    public static void require() {
        try {
            make().close();
        } catch (AssertionError refused) {
            skip(refused);
        }
    }

    static void skip(AssertionError refused) {
        Assumptions.abort("A partition of the network needs root, namespaces, and the programs ip and tc: "
                + refused.getMessage());
    }

    /** Makes one. Its addresses are those of no other one, in any process of this machine. */
    public static NetworkNamespace make() {
        // A port that is reserved is a number that nobody else has.
        return new NetworkNamespace(Ports.reserve());
    }

    /** The address of this machine as a process in the namespace sees it. */
    public String host() {
        return host;
    }

    /** The address of a process in the namespace as this machine sees it. */
    public String guest() {
        return guest;
    }

    /** Leads a second cable from it to a bridge, and returns the name of that end. */
    String connect(String bridge, String addressThere) {
        String end = cable + "b";
        ip("link", "add", end, "type", "veth", "peer", "name", SECOND, "netns", name);
        ip("link", "set", end, "master", bridge, "up");
        ip("-n", name, "address", "add", addressThere + "/24", "dev", SECOND);
        ip("-n", name, "link", "set", SECOND, "up");
        return end;
    }

    /** Lets its processes find those of another one by the same address as this machine does, through the bridge. */
    void reach(NetworkNamespace other, String addressThere) {
        ip("-n", name, "route", "add", other.guest, "via", addressThere, "src", guest);
    }

    /** What stands before the command of a process that is to be in it. */
    public List<String> prefix() {
        return List.of(PROGRAM, "netns", "exec", name);
    }

    /** Pulls the cable out. */
    public void cut() {
        ip("link", "set", cable, "down");
    }

    /** Puts the cable in again. */
    public void heal() {
        ip("link", "set", cable, "up");
    }

    /** Removes it, and the cable with it. Processes in it must have ended. */
    @Override
    public void close() {
        ip("netns", "delete", name);
    }

    static void ip(String... arguments) {
        List<String> command = new ArrayList<>(List.of(PROGRAM));
        command.addAll(List.of(arguments));
        run(command);
    }

    static void run(List<String> command) {
        try {
            Process process =
                    new ProcessBuilder(command).redirectErrorStream(true).start();
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            if (process.waitFor() != 0) {
                throw new AssertionError(String.join(" ", command) + ": " + said.strip());
            }
        } catch (IOException failure) {
            throw new AssertionError("There is no program " + command.get(0) + ": apt-get install iproute2", failure);
        } catch (InterruptedException failure) {
            throw new AssertionError(failure);
        }
    }
}
