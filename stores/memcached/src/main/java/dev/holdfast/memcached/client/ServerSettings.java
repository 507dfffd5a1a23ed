package dev.holdfast.memcached.client;

import dev.holdfast.spi.StoreException;
import java.util.Map;

/** What a server answers to {@code stats settings}. */
record ServerSettings(Map<String, String> values) {

    /** The largest value and key that the server must take, in bytes: its default. */
    private static final long LEAST_ITEM_BYTES = 1 << 20;

    /**
     * Checks that locks can be kept in such a server.
     *
     * @param sasl whether the binary protocol is used. There a server that has no room for a value removes the one that it
     *     would have replaced, whatever number it was compared with: the record of all holders.
     * @throws StoreException if they cannot, with the reason
     */
    void check(String server, boolean sasl) {
        if (!"yes".equals(values.get("cas_enabled"))) {
            throw StoreException.refused(
                    server + " does not number its values: start it without -C (disable CAS)", null);
        }
        if (sasl && "off".equals(values.get("evictions"))) {
            throw StoreException.refused(
                    server + " is started with -M. With login=sasl it would drop a lock when its memory is full: use"
                            + " login=text (-Y), or start it without -M",
                    null);
        }
        if (sasl && Long.parseLong(values.getOrDefault("item_size_max", "0")) < LEAST_ITEM_BYTES) {
            throw StoreException.refused(
                    server + " takes values of less than 1 MiB (-I). With login=sasl it would drop a lock whose record"
                            + " is larger: use login=text (-Y), or start it without -I",
                    null);
        }
    }
}
