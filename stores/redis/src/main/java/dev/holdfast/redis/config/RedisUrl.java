package dev.holdfast.redis.config;

import dev.holdfast.store.UrlOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
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
        List<Address> hosts,
        @Nullable String primaryName,
        int database,
        RedisOptions options) {

    public static final String FORM =
            "redis[s]|tair[s]://[[USER]:PASSWORD@]HOST[:PORT][,HOST...][/DATABASE][?OPTION=VALUE&...]";
    public static final String SENTINEL_FORM =
            "redis[s]-sentinel://[[USER]:PASSWORD@]HOST[:PORT][,HOST...]/PRIMARY-NAME[/DATABASE][?OPTION=VALUE&...]";

    private static final int DEFAULT_PORT = 6379;
    private static final int DEFAULT_SENTINEL_PORT = 26379;
    private static final int MAX_PORT = 65_535;
    private static final String HOST = "(?:\\[[0-9A-Fa-f:.%]+]|[^:/?@,\\[\\]]+)(?::\\d{1,5})?";
    private static final Pattern URL = Pattern.compile("redis(s?)(-sentinel)?://(?:([^@/?]*)@)?(" + HOST + "(?:," + HOST
            + ")*)(?:/([^/?]*))?(?:/([^/?]*))?(?:\\?(.*))?");
    private static final Pattern ONE_HOST = Pattern.compile("(\\[[^]]+]|[^:,]+)(?::(\\d+))?");

    /**
     * Reads a URL.
     *
     * @throws IllegalArgumentException if it is wrong; the message does not show a password
     */
    public static RedisUrl parse(String url) {
        Matcher matcher = URL.matcher(url);
        boolean sentinel = url.startsWith("redis-sentinel:") || url.startsWith("rediss-sentinel:");
        if (!matcher.matches() || (!sentinel && matcher.group(6) != null)) {
            throw new IllegalArgumentException(
                    "The URL of a store in Redis is " + (sentinel ? SENTINEL_FORM : FORM) + ", but was "
                            + withoutPassword(url) + ". Encode : / ? @ % in user and password as %3A %2F %3F %40 %25");
        }
        String primaryName = sentinel ? UrlOptions.decodedText(text(matcher.group(5))) : null;
        if (primaryName != null && primaryName.isEmpty()) {
            throw new IllegalArgumentException("The URL " + withoutPassword(url)
                    + " lacks the name that the Sentinels give the primary: " + SENTINEL_FORM);
        }
        String login = matcher.group(3);
        String user = null;
        String password = null;
        if (login != null) {
            int colon = login.indexOf(':');
            String name = UrlOptions.decodedText(colon < 0 ? login : login.substring(0, colon));
            user = name.isEmpty() ? null : name;
            // A user without a password is one that the server accepts with any password.
            password = colon < 0 ? "" : UrlOptions.decodedText(login.substring(colon + 1));
        }
        List<Address> hosts = hosts(matcher.group(4), sentinel ? DEFAULT_SENTINEL_PORT : DEFAULT_PORT);
        RedisOptions options = RedisOptions.parse(text(matcher.group(7)));
        int database = database(text(matcher.group(sentinel ? 6 : 5)));
        if (!sentinel && hosts.size() > 1) {
            options = options.withCluster();
        }
        options.checkTopology(sentinel);
        if (options.cluster() && database != 0) {
            throw new IllegalArgumentException("A cluster has database 0 only, but the URL says " + database);
        }
        return new RedisUrl(!matcher.group(1).isEmpty(), user, password, hosts, primaryName, database, options);
    }

    private static List<Address> hosts(String text, int defaultPort) {
        List<Address> hosts = new ArrayList<>();
        Matcher matcher = ONE_HOST.matcher(text);
        while (matcher.find()) {
            int port = matcher.group(2) == null ? defaultPort : Integer.parseInt(matcher.group(2));
            if (port < 1 || port > MAX_PORT) {
                throw new IllegalArgumentException("The port must be 1 to " + MAX_PORT + ", but was " + port);
            }
            hosts.add(new Address(matcher.group(1).replaceAll("[\\[\\]]", ""), port));
        }
        return List.copyOf(hosts);
    }

    private static int database(String text) {
        if (!text.matches("\\d{0,6}")) {
            throw new IllegalArgumentException("The database must be a number, but was \"" + text + "\"");
        }
        return text.isEmpty() ? 0 : Integer.parseInt(text);
    }

    /** The servers of this URL, for messages. It shows neither user nor password. */
    @Override
    public String toString() {
        return "redis" + (tls ? "s" : "") + (primaryName == null ? "" : "-sentinel") + "://"
                + hosts.stream().map(Address::toString).collect(Collectors.joining(","))
                + (primaryName == null ? "" : "/" + primaryName)
                + (database == 0 ? "" : "/" + database);
    }

    static String withoutPassword(String url) {
        return url.replaceAll("//.*@", "//***@");
    }

    private static String text(@Nullable String group) {
        return group == null ? "" : group;
    }
}
