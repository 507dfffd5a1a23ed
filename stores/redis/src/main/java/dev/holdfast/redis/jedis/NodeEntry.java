package dev.holdfast.redis.jedis;

import dev.holdfast.redis.client.Replies;
import dev.holdfast.store.ServerAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Reads what a table of slots says of one node: its endpoint, port and id, and from Redis 7 on what else is known of it. */
final class NodeEntry {

    private static final int HOST = 0;
    private static final int PORT = 1;
    private static final int MORE = 3;

    private NodeEntry() {}

    /**
     * The address of a node.
     *
     * @param asked the node that has answered
     * @return null if the node that has answered does not know it: the other one is gone, or new
     */
    static @Nullable ServerAddress address(@Nullable Object entry, ServerAddress asked) {
        if (!(entry instanceof List<?> node)
                || node.size() <= PORT
                || !(node.get(PORT) instanceof Long port)
                || port < 1
                || port > ServerAddress.MAX_PORT) {
            return null;
        }
        String host = Replies.host(text(node.get(HOST)), asked.host());
        if (host == null && node.size() > MORE) {
            host = ip(node.get(MORE));
        }
        return host == null || host.isEmpty() ? null : new ServerAddress(host, port.intValue());
    }

    // A list of names and values by RESP2, of pairs by RESP3.
    private static @Nullable String ip(@Nullable Object more) {
        List<?> parts = more instanceof List<?> list ? list : List.of();
        for (int i = 0; i < parts.size(); i++) {
            if (parts.get(i) instanceof Map.Entry<?, ?> pair) {
                if ("ip".equals(text(pair.getKey()))) {
                    return text(pair.getValue());
                }
            } else if ("ip".equals(text(parts.get(i))) && i + 1 < parts.size()) {
                return text(parts.get(i + 1));
            }
        }
        return null;
    }

    private static @Nullable String text(@Nullable Object part) {
        return part instanceof byte[] bytes ? new String(bytes, StandardCharsets.UTF_8) : null;
    }
}
