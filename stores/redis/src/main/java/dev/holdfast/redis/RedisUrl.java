package dev.holdfast.redis;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * {@code redis://[user[:password]@]host[:port][/db][?option=value&...]}, or {@code rediss://} for TLS. User, password and
 * values may be percent-encoded.
 *
 * @param user the user, or null for the server's default user
 * @param password the password, or null if none is asked for
 */
record RedisUrl(
        boolean tls,
        @Nullable String user,
        @Nullable String password,
        String host,
        int port,
        int database,
        RedisOptions options) {

    static final String FORM = "redis[s]://[[USER]:PASSWORD@]HOST[:PORT][/DATABASE][?OPTION=VALUE&...]";

    private static final int DEFAULT_PORT = 6379;
    private static final int MAX_PORT = 65_535;
    private static final Pattern URL = Pattern.compile("redis(s?)://(?:([^@/?]*)@)?(\\[[0-9A-Fa-f:.%]+]|[^:/?@\\[\\]]+)"
            + "(?::(\\d{1,5}))?(?:/(\\d{0,6}))?(?:\\?(.*))?");

    /** @throws IllegalArgumentException if the URL is wrong; the message does not show a password */
    static RedisUrl parse(String url) {
        Matcher matcher = URL.matcher(url);
        if (!matcher.matches()) {
            throw new IllegalArgumentException("The URL of a store in Redis is " + FORM + ", but was "
                    + withoutPassword(url) + ". Encode : / ? @ % in user and password as %3A %2F %3F %40 %25");
        }
        int port = matcher.group(4) == null ? DEFAULT_PORT : Integer.parseInt(matcher.group(4));
        if (port < 1 || port > MAX_PORT) {
            throw new IllegalArgumentException("The port must be 1 to " + MAX_PORT + ", but was " + port);
        }
        String database = matcher.group(5);
        String query = matcher.group(6);
        String login = matcher.group(2);
        String user = null;
        String password = null;
        if (login != null) {
            int colon = login.indexOf(':');
            String name = decoded(colon < 0 ? login : login.substring(0, colon));
            user = name.isEmpty() ? null : name;
            // A user without a password is one to whom any password is right.
            password = colon < 0 ? "" : decoded(login.substring(colon + 1));
        }
        return new RedisUrl(
                !matcher.group(1).isEmpty(),
                user,
                password,
                matcher.group(3).replaceAll("[\\[\\]]", ""),
                port,
                database == null || database.isEmpty() ? 0 : Integer.parseInt(database),
                RedisOptions.parse(query == null ? "" : decoded(query)));
    }

    /** Where this leads to, for messages. */
    @Override
    public String toString() {
        String address = host.indexOf(':') >= 0 ? "[" + host + "]" : host;
        return "redis" + (tls ? "s" : "") + "://" + address + ":" + port + (database == 0 ? "" : "/" + database);
    }

    static String withoutPassword(String url) {
        return url.replaceAll("//.*@", "//***@");
    }

    // A plus stays a plus: this is no form.
    private static String decoded(String text) {
        if (text.indexOf('%') < 0) {
            return text;
        }
        try {
            return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
        } catch (IllegalArgumentException wrong) {
            throw new IllegalArgumentException("The URL has a % that is not followed by two hexadecimal digits", wrong);
        }
    }
}
