package dev.holdfast.redis.config;

/**
 * The network address of a server.
 *
 * @param host a name or an IP address, without brackets
 * @param port the port
 */
public record Address(String host, int port) {

    @Override
    public String toString() {
        return (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + port;
    }
}
