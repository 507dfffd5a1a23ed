package dev.holdfast.zookeeper.session;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Finds many nodes of the client's own session with few requests: the server knows the ephemeral nodes of each
 * session, and lists those with a given path prefix. A client that holds thousands of locks can therefore check
 * with a few requests that its nodes exist; otherwise it would have to list thousands of parent nodes.
 *
 * <p>A reply must not be larger than the client accepts, or the connection breaks. The client knows its own nodes,
 * so the prefixes are chosen such that no reply is too large. The request is not tried again where it does not
 * work: with a server before 3.6, or with a client that has a chroot, because the reply then has other paths than
 * those that were created. Thread-safe.
 */
public final class SessionNodes {

    /** The minimum number of nodes. Fewer nodes are looked at one by one. */
    public static final int MIN_NODES = 16;

    /**
     * The maximum number of known nodes of the session for each wanted one, because replies contain nodes that are
     * not wanted.
     */
    private static final int MAX_TOTAL_PER_WANTED = 16;

    /**
     * The maximum number of bytes of the known paths in one reply. This is well below the 1 MB that a client
     * accepts by default.
     */
    private static final int MAX_REPLY_BYTES = 256 * 1024;

    /** The bytes of the length field before each path in a reply. */
    private static final int LENGTH_BYTES = 4;

    private volatile boolean disabled;

    /** Whether to find this many nodes by prefix instead of listing each parent node. */
    public boolean isWorthwhile(int wanted, int all) {
        return !disabled && wanted >= MIN_NODES && wanted * MAX_TOTAL_PER_WANTED >= all;
    }

    /** Stops finding nodes in this way, because nodes that exist were not found. */
    public void disable() {
        disabled = true;
    }

    /**
     * Finds nodes. All requests are sent at once.
     *
     * @param wanted the paths of the nodes to find
     * @param all the paths of all known nodes of the session, including the wanted ones
     * @return the paths of the session's nodes, as far as the replies contain them
     */
    public CompletionStage<Set<String>> find(SessionClient client, Collection<String> wanted, Collection<String> all) {
        CompletionStage<Set<String>> last = CompletableFuture.completedStage(new HashSet<>());
        for (String prefix : prefixes(new HashSet<>(wanted), all)) {
            last = last.thenCombine(client.ephemerals(prefix), (found, reply) -> {
                if (reply.isOk()) {
                    found.addAll(reply.get());
                }
                return found;
            });
        }
        return last;
    }

    /** Chooses path prefixes such that the replies contain all wanted nodes, and no reply is too large. */
    static List<String> prefixes(Set<String> wanted, Collection<String> all) {
        List<String> sorted = new ArrayList<>(all);
        sorted.sort(null);
        List<String> prefixes = new ArrayList<>();
        split(sorted, 0, wanted, prefixes);
        return prefixes;
    }

    // Paths with a common prefix are neighbours in the sorted list. If they are too many for one reply, they are
    // split by the character that follows the common prefix.
    private static void split(List<String> sorted, int depth, Set<String> wanted, List<String> prefixes) {
        if (sorted.stream().noneMatch(wanted::contains)) {
            return;
        }
        String first = sorted.get(0);
        String last = sorted.get(sorted.size() - 1);
        int common = depth;
        while (common < Math.min(first.length(), last.length()) && first.charAt(common) == last.charAt(common)) {
            common++;
        }
        if (!isTooMuch(sorted) || common >= first.length()) {
            prefixes.add(prefix(first.substring(0, common)));
            return;
        }
        int from = 0;
        for (int i = 1; i <= sorted.size(); i++) {
            if (i == sorted.size()
                    || sorted.get(i).charAt(common) != sorted.get(from).charAt(common)) {
                split(sorted.subList(from, i), common + 1, wanted, prefixes);
                from = i;
            }
        }
    }

    private static boolean isTooMuch(List<String> paths) {
        int bytes = 0;
        for (String path : paths) {
            bytes += path.getBytes(StandardCharsets.UTF_8).length + LENGTH_BYTES;
            if (bytes > MAX_REPLY_BYTES) {
                return true;
            }
        }
        return false;
    }

    // ZooKeeper accepts no path that ends with a slash, except the root.
    private static String prefix(String text) {
        return text.length() > 1 && text.endsWith("/") ? text.substring(0, text.length() - 1) : text;
    }
}
