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

    private record Seen(Connection connection, Version version) {}

    synchronized void saw(LockName name, Connection connection, Version version) {
        versions.put(name, new Seen(connection, version));
    }

    synchronized void forget(LockName name) {
        versions.remove(name);
    }

    /** The version that was written on this connection; null if there is none. */
    synchronized @Nullable Version of(LockName name, Connection connection) {
        Seen seen = versions.get(name);
        return seen == null || seen.connection() != connection ? null : seen.version();
    }
}
