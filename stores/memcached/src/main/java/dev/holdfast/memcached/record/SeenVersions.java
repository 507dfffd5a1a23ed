package dev.holdfast.memcached.record;

import dev.holdfast.memcached.client.Connection;
import dev.holdfast.memcached.client.Version;
import dev.holdfast.spi.LockName;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What this client has written last under each name. While nobody else changes it, a renewal and a release need no
 * reading: they are one compare-and-set. Thread-safe.
 */
final class SeenVersions {

    /** The most names that are remembered. Those that were not used for the longest time are forgotten. */
    private static final int MAX_NAMES = 10_000;

    private final Map<LockName, Seen> versions = new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<LockName, Seen> eldest) {
            return size() > MAX_NAMES;
        }
    };

    /**
     * What was written.
     *
     * @param connection the connection that wrote it
     * @param version the value
     * @param content what the value says
     */
    record Seen(Connection connection, Version version, RecordContent content) {}

    synchronized void saw(LockName name, Seen seen) {
        versions.put(name, seen);
    }

    synchronized void forget(LockName name) {
        versions.remove(name);
    }

    /** What was written on this connection; null if there is nothing. */
    synchronized @Nullable Seen of(LockName name, Connection connection) {
        Seen seen = versions.get(name);
        return seen == null || seen.connection() != connection ? null : seen;
    }
}
