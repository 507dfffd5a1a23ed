package dev.holdfast.zookeeper.node;

import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Nodes by which other libraries keep locks of a kind that cannot take part in the queue here. Neither side would notice the
 * other, so a lock whose parent node has one of them is refused.
 */
final class OtherRecipe {

    private static final Pattern LEADER_LATCH = Pattern.compile(".*latch-\\d{10}");
    private static final Pattern KAZOO = Pattern.compile(".*__r?lock__\\d{10}");

    private OtherRecipe() {}

    /** Which recipe creates a child of this name; null if none that is known. */
    static @Nullable String of(String child) {
        if (child.equals("leases") || child.equals("locks")) {
            return "an InterProcessSemaphoreV2 of Curator";
        }
        if (LEADER_LATCH.matcher(child).matches()) {
            return "a LeaderLatch of Curator";
        }
        return KAZOO.matcher(child).matches() ? "a lock of kazoo" : null;
    }
}
