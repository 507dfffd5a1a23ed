package dev.holdfast.zookeeper.config;

import dev.holdfast.store.UrlOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * {@code zookeeper://[user:password@]host[:port][,host[:port]...][/root][?option=value&...]}. User, password, root
 * and values may be percent-encoded.
 *
 * @param login {@code user:password} for the digest scheme; null for none
 * @param hosts {@code host:port,host:port}
 * @param root the path of the node above all locks
 */
public record ZooKeeperUrl(@Nullable String login, String hosts, String root, ZooKeeperOptions options) {

    /** The form of a URL, for messages. */
    public static final String FORM =
            "zookeeper://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...][/ROOT][?OPTION=VALUE&...]";

    static final String DEFAULT_ROOT = "/holdfast";

    private static final int DEFAULT_PORT = 2181;
    private static final int MAX_PORT = 65_535;
    private static final Pattern URL = Pattern.compile("zookeeper://(?:([^@/?]*)@)?([^/?@]+)(/[^?]*)?(?:\\?(.*))?");
    private static final Pattern HOST = Pattern.compile("(\\[[0-9A-Fa-f:.%]+]|[^:\\[\\]\\s]+)(?::(\\d{1,5}))?");

    /**
     * Parses a URL.
     *
     * @throws IllegalArgumentException if the URL is wrong; the message does not show a password
     */
    public static ZooKeeperUrl parse(String url) {
        Matcher matcher = URL.matcher(url);
        if (!matcher.matches()) {
            throw wrong(url);
        }
        List<String> hosts = new ArrayList<>();
        for (String host : matcher.group(2).split(",", -1)) {
            Matcher part = HOST.matcher(host);
            if (!part.matches()) {
                throw wrong(url);
            }
            int port = part.group(2) == null ? DEFAULT_PORT : Integer.parseInt(part.group(2));
            if (port < 1 || port > MAX_PORT) {
                throw new IllegalArgumentException("The port must be 1 to " + MAX_PORT + ", but was " + port);
            }
            hosts.add(part.group(1) + ":" + port);
        }
        String login = matcher.group(1) == null ? null : UrlOptions.decodedText(matcher.group(1));
        if (login != null && login.indexOf(':') < 1) {
            throw new IllegalArgumentException("A login is USER:PASSWORD, in " + withoutPassword(url));
        }
        String path = matcher.group(3);
        String root = path == null || path.equals("/") ? DEFAULT_ROOT : UrlOptions.decodedText(path);
        String query = matcher.group(4);
        return new ZooKeeperUrl(
                login,
                String.join(",", hosts),
                ZooKeeperOptions.checkRoot(root),
                ZooKeeperOptions.ofUrl(query == null ? "" : query));
    }

    private static IllegalArgumentException wrong(String url) {
        return new IllegalArgumentException("The URL of a store in ZooKeeper is " + FORM + ", but was "
                + withoutPassword(url) + ". Encode : / ? @ % in user and password as %3A %2F %3F %40 %25");
    }

    private static String withoutPassword(String url) {
        return url.replaceAll("//.*@", "//***@").replaceAll("(?i)(password=)[^&]*", "$1***");
    }

    /** The hosts and the root without the login, for messages. */
    @Override
    public String toString() {
        return "zookeeper://" + hosts + root;
    }
}
