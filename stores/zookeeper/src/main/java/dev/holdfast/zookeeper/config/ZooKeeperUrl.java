package dev.holdfast.zookeeper.config;

import dev.holdfast.store.ServerAddress;
import dev.holdfast.store.StoreUrl;
import dev.holdfast.store.UrlOptions;
import java.util.stream.Collectors;
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

    private static final String PRODUCT = "ZooKeeper";
    private static final int DEFAULT_PORT = 2181;

    /**
     * Parses a URL.
     *
     * @throws IllegalArgumentException if the URL is wrong; the message does not show a password
     */
    public static ZooKeeperUrl parse(String text) {
        return StoreUrl.parse(text, PRODUCT, FORM, DEFAULT_PORT, url -> of(url, text));
    }

    private static ZooKeeperUrl of(StoreUrl url, String text) {
        if (!url.scheme().equals("zookeeper")) {
            throw StoreUrl.wrong(text, PRODUCT, FORM);
        }
        String user = url.user();
        if (user != null && (user.isEmpty() || user.indexOf(':') >= 0 || url.password() == null)) {
            throw new IllegalArgumentException("A login is USER:PASSWORD, in " + StoreUrl.withoutPassword(text));
        }
        String root = url.path().length() < 2 ? DEFAULT_ROOT : UrlOptions.decodedText(url.path());
        return new ZooKeeperUrl(
                user == null ? null : user + ":" + url.password(),
                url.servers().stream().map(ServerAddress::toString).collect(Collectors.joining(",")),
                ZooKeeperOptions.checkRoot(root),
                ZooKeeperOptions.ofUrl(url.query()));
    }

    /** The hosts and the root without the login, for messages. A root with an @ may be the rest of a password. */
    @Override
    public String toString() {
        return StoreUrl.withoutPassword("zookeeper://" + hosts + root);
    }
}
