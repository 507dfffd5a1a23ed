package dev.holdfast.store;

/**
 * Where a server listens.
 *
 * @param host a name or an IP address, without brackets
 * @param port the port, 1 to {@value #MAX_PORT}
 */
public record ServerAddress(String host, int port) {

    /** The largest port. */
    public static final int MAX_PORT = 65_535;

    /** @throws IllegalArgumentException if the host is empty, which Java would take for this machine */
    public ServerAddress {
        if (host.isEmpty()) {
            throw new IllegalArgumentException("A server with port " + port + " has no host");
        }
    }

    /** The address as it stands in a URL: {@code host:port}, an IPv6 address in brackets. */
    @Override
    public String toString() {
        return (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + port;
    }
}
