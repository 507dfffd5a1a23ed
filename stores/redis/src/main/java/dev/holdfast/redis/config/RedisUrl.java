package dev.holdfast.redis.config;

import dev.holdfast.store.ServerAddress;
import dev.holdfast.store.StoreUrl;
import dev.holdfast.store.UrlOptions;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * {@code redis://[[user]:password@]host[:port][,host[:port]...][/db][?option=value&...]}, or {@code
 * redis-sentinel://...host[:port],.../primary-name[/db]}; {@code rediss} for TLS. User, password and values may be
 * percent-encoded.
 *
 * @param user the user, or null for the server's default user
 * @param password the password, or null if none is asked for
 * @param hosts the server; or some nodes of a cluster or some Sentinels, which name the other servers
 * @param primaryName the name that the Sentinels use for the primary, or null if there are no Sentinels
 */
public record RedisUrl(
        boolean tls,
        @Nullable String user,
        @Nullable String password,
        List<ServerAddress> hosts,
        @Nullable String primaryName,
        int database,
        RedisOptions options) {

    public static final String FORM =
            "redis[s]|tair[s]://[[USER]:PASSWORD@]HOST[:PORT][,HOST...][/DATABASE][?OPTION=VALUE&...]";
    public static final String SENTINEL_FORM =
            "redis[s]-sentinel://[[USER]:PASSWORD@]HOST[:PORT][,HOST...]/PRIMARY-NAME[/DATABASE][?OPTION=VALUE&...]";

    private static final String PRODUCT = "Redis";
    private static final int DEFAULT_PORT = 6379;
    private static final int DEFAULT_SENTINEL_PORT = 26379;

    /**
     * Reads a URL.
     *
     * @throws IllegalArgumentException if it is wrong; the message does not show a password
     */
    public static RedisUrl parse(String text) {
        boolean sentinel = text.startsWith("redis-sentinel:") || text.startsWith("rediss-sentinel:");
        String form = sentinel ? SENTINEL_FORM : FORM;
        int port = sentinel ? DEFAULT_SENTINEL_PORT : DEFAULT_PORT;
        return StoreUrl.parse(text, PRODUCT, form, port, url -> of(url, sentinel, text));
    }

    private static RedisUrl of(StoreUrl url, boolean sentinel, String text) {
        List<String> path = url.path().isEmpty()
                ? List.of()
                : List.of(url.path().substring(1).split("/", -1));
        if (!url.scheme().matches("rediss?(-sentinel)?") || path.size() > (sentinel ? 2 : 1)) {
            throw StoreUrl.wrong(text, PRODUCT, sentinel ? SENTINEL_FORM : FORM);
        }
        String primaryName = sentinel ? UrlOptions.decodedText(part(path, 0)) : null;
        if (primaryName != null && primaryName.isEmpty()) {
            throw new IllegalArgumentException("The URL " + StoreUrl.withoutPassword(text)
                    + " lacks the name that the Sentinels give the primary: " + SENTINEL_FORM);
        }
        RedisOptions options = RedisOptions.parse(url.query());
        int database = database(part(path, sentinel ? 1 : 0));
        if (!sentinel && url.servers().size() > 1) {
            options = options.withCluster();
        }
        options.checkTopology(sentinel);
        if (options.cluster() && database != 0) {
            throw new IllegalArgumentException("A cluster has database 0 only, but the URL says " + database);
        }
        String user = url.user();
        // A user without a password is one that the server accepts with any password.
        String password = user != null && url.password() == null ? "" : url.password();
        return new RedisUrl(
                url.scheme().startsWith("rediss"),
                user != null && user.isEmpty() ? null : user,
                password,
                url.servers(),
                primaryName,
                database,
                options);
    }

    private static String part(List<String> path, int index) {
        return index < path.size() ? path.get(index) : "";
    }

    private static int database(String text) {
        if (!text.matches("\\d{0,6}")) {
            throw new IllegalArgumentException("The database must be a number, but was \"" + text + "\"");
        }
        return text.isEmpty() ? 0 : Integer.parseInt(text);
    }

    /**
     * The servers of this URL, for messages. It shows neither user nor password. A primary name with an @ may be the
     * rest of a password.
     */
    @Override
    public String toString() {
        return StoreUrl.withoutPassword("redis" + (tls ? "s" : "") + (primaryName == null ? "" : "-sentinel") + "://"
                + hosts.stream().map(ServerAddress::toString).collect(Collectors.joining(","))
                + (primaryName == null ? "" : "/" + primaryName)
                + (database == 0 ? "" : "/" + database));
    }
}
