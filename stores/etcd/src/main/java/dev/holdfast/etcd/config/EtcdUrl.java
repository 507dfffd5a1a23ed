package dev.holdfast.etcd.config;

import dev.holdfast.store.UrlOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * {@code etcd://[user:password@]host[:port][,host[:port]...][?option=value&...]}, or {@code etcds://} for TLS. User,
 * password and values may be percent-encoded.
 *
 * @param user the user, or null if the URL has none
 * @param password the password, or null
 */
public record EtcdUrl(
        boolean tls, @Nullable String user, @Nullable String password, List<Server> servers, EtcdOptions options) {

    public static final String FORM = "etcd[s]://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...][?OPTION=VALUE&...]";

    private static final int DEFAULT_PORT = 2379;
    private static final int MAX_PORT = 65_535;
    private static final int MAX_SERVERS = 32;
    private static final Pattern URL = Pattern.compile("etcd(s?)://(?:([^@/?:]+):([^@/?]*)@)?([^@/?]+)/?(?:\\?(.*))?");
    private static final Pattern SERVER = Pattern.compile("(\\[[0-9A-Fa-f:.%]+]|[^:@\\[\\]]+)(?::(\\d{1,5}))?");

    /** A server. */
    public record Server(String host, int port) {

        @Override
        public String toString() {
            return (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + port;
        }
    }

    /**
     * Reads a URL.
     *
     * @throws IllegalArgumentException if the URL is wrong; the message does not show a password
     */
    public static EtcdUrl parse(String url) {
        Matcher matcher = URL.matcher(url);
        if (!matcher.matches()) {
            throw new IllegalArgumentException("The URL of a store in etcd is " + FORM + ", but was "
                    + withoutPassword(url) + ". Encode : / ? @ % in user and password as %3A %2F %3F %40 %25");
        }
        boolean tls = !matcher.group(1).isEmpty();
        List<Server> servers = new ArrayList<>();
        for (String server : matcher.group(4).split(",", -1)) {
            servers.add(server(server));
        }
        if (servers.size() > MAX_SERVERS) {
            throw new IllegalArgumentException(
                    "A URL can name at most " + MAX_SERVERS + " servers of etcd, but had " + servers.size());
        }
        String query = matcher.group(5);
        EtcdOptions options = EtcdOptions.parse(query == null ? "" : query);
        if (!tls && options.hasFiles()) {
            throw new IllegalArgumentException("Options ca, cert and key are for TLS: begin the URL with etcds://");
        }
        String user = matcher.group(2);
        return new EtcdUrl(
                tls,
                user == null ? null : UrlOptions.decodedText(user),
                user == null ? null : UrlOptions.decodedText(matcher.group(3)),
                List.copyOf(servers),
                options);
    }

    private static Server server(String text) {
        Matcher matcher = SERVER.matcher(text);
        if (!matcher.matches()) {
            throw new IllegalArgumentException("A server of etcd is HOST[:PORT], but was \"" + text + "\"");
        }
        int port = matcher.group(2) == null ? DEFAULT_PORT : Integer.parseInt(matcher.group(2));
        if (port < 1 || port > MAX_PORT) {
            throw new IllegalArgumentException("The port must be 1 to " + MAX_PORT + ", but was " + port);
        }
        return new Server(matcher.group(1).replaceAll("[\\[\\]]", ""), port);
    }

    /** The servers of this URL, without user and password, for messages. */
    @Override
    public String toString() {
        return "etcd" + (tls ? "s" : "") + "://"
                + String.join(",", servers.stream().map(Server::toString).toList());
    }

    static String withoutPassword(String url) {
        return url.replaceAll("//.*@", "//***@");
    }
}
