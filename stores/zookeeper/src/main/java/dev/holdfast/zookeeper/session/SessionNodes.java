package dev.holdfast.zookeeper.session;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Asks for many nodes of the own session at once: the server knows the ephemeral nodes of each session, and lists those whose
 * paths begin alike. So a client that holds thousands of locks sees with a few requests that they are there, where it would
 * list as many folders else.
 *
 * <p>A reply must not be larger than the client takes, or the connection breaks. The own nodes are known here, so the
 * beginnings are chosen such that no reply is. Where nothing can be learned this way - a server before 3.6, paths that are
 * told otherwise than they were made because the client has a root of its own - it is not tried again. Thread-safe.
 */
public final class SessionNodes {

    /** For fewer nodes the folders are listed, which tells more. */
    public static final int FEWEST = 16;

    /** They are asked for together if they are at least such a part of all that the client has: the others are told, too. */
    private static final int LEAST_PART = 16;

    /**
     * The most bytes of a reply's paths, as far as they are known here: the client takes 1 MB, unless somebody changed that.
     */
    private static final int MOST_BYTES = 256 * 1024;

    private static final int LENGTH_BYTES = 4;

    private volatile boolean useless;

    /** Whether it is better to ask for so many nodes together than one by one. */
    public boolean areWorthwhile(int wanted, int all) {
        return !useless && wanted >= FEWEST && wanted * LEAST_PART >= all;
    }

    /** What was asked for in this way was not found, but is there. */
    public void areUseless() {
        useless = true;
    }

    /**
     * Looks for nodes. The requests are sent at once, one behind the other.
     *
     * @param wanted the nodes that are looked for
     * @param all these and what else of the session's nodes is known
     * @return for each folder the names of the session's nodes in it, as far as they were told
     */
    public CompletionStage<Map<String, List<String>>> find(
            SessionClient handle, Collection<String> wanted, Collection<String> all) {
        Map<String, List<String>> found = new HashMap<>();
        CompletionStage<Map<String, List<String>>> last = CompletableFuture.completedStage(found);
        for (String beginning : beginnings(new HashSet<>(wanted), all)) {
            last = last.thenCombine(handle.ownNodes(beginning), (nodes, reply) -> {
                if (reply.isOk()) {
                    reply.get().forEach(path -> put(nodes, path));
                }
                return nodes;
            });
        }
        return last;
    }

    /** What paths begin with, so that all that are wanted are told, and no reply is too large. */
    static List<String> beginnings(Set<String> wanted, Collection<String> all) {
        List<String> sorted = new ArrayList<>(all);
        sorted.sort(null);
        List<String> beginnings = new ArrayList<>();
        split(sorted, 0, wanted, beginnings);
        return beginnings;
    }

    private static void put(Map<String, List<String>> nodes, String path) {
        int slash = path.lastIndexOf('/');
        nodes.computeIfAbsent(path.substring(0, slash), unused -> new ArrayList<>(1))
                .add(path.substring(slash + 1));
    }

    // Sorted paths that begin alike are neighbours: as long as they are too many, those with another next character are
    // asked for by themselves.
    private static void split(List<String> sorted, int depth, Set<String> wanted, List<String> beginnings) {
        if (sorted.stream().noneMatch(wanted::contains)) {
            return;
        }
        String first = sorted.get(0);
        String last = sorted.get(sorted.size() - 1);
        int alike = depth;
        while (alike < Math.min(first.length(), last.length()) && first.charAt(alike) == last.charAt(alike)) {
            alike++;
        }
        if (!isTooMuch(sorted) || alike >= first.length()) {
            beginnings.add(beginning(first.substring(0, alike)));
            return;
        }
        int from = 0;
        for (int i = 1; i <= sorted.size(); i++) {
            if (i == sorted.size()
                    || sorted.get(i).charAt(alike) != sorted.get(from).charAt(alike)) {
                split(sorted.subList(from, i), alike + 1, wanted, beginnings);
                from = i;
            }
        }
    }

    private static boolean isTooMuch(List<String> paths) {
        int bytes = 0;
        for (String path : paths) {
            bytes += path.getBytes(StandardCharsets.UTF_8).length + LENGTH_BYTES;
            if (bytes > MOST_BYTES) {
                return true;
            }
        }
        return false;
    }

    // A path ends with no slash.
    private static String beginning(String text) {
        return text.length() > 1 && text.endsWith("/") ? text.substring(0, text.length() - 1) : text;
    }
}
