package dev.holdfast.store;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The URL of a store on servers: {@code scheme://[user[:password]@]host[:port][,host[:port]...][/path][?option=value&...]}.
 * All stores read their URLs with it, so that they look the same, are refused in the same words, and never show a password.
 *
 * @param scheme what stands before the colon
 * @param user the user, decoded; null if the URL has none
 * @param password the password, decoded, perhaps empty; null if the URL has none
 * @param servers the servers, at least one, in the order of the URL
 * @param path what follows the servers, with the slash that it begins with, not decoded; empty if there is none
 * @param query what follows the question mark, not decoded; empty if there is none. {@link UrlOptions} reads it.
 */
public record StoreUrl(
        String scheme,
        @Nullable String user,
        @Nullable String password,
        List<ServerAddress> servers,
        String path,
        String query) {

    public StoreUrl {
        servers = List.copyOf(servers);
    }

    /** The most servers of one URL. */
    public static final int MAX_SERVERS = 32;

    private static final Pattern URL =
            Pattern.compile("([a-z][a-z0-9+-]*)://(?:([^@/?]*)@)?([^@/?\\s]+)(/[^?]*)?(?:\\?(.*))?");
    private static final Pattern PASSWORD_OPTION = Pattern.compile("(?is)[?&;][^?&;=]*password=");
    /** A database may begin its options with any character. */
    private static final Pattern PASSWORD_OF_JDBC = Pattern.compile("(?i)password=");

    private static final Pattern SERVER = Pattern.compile("(\\[[0-9A-Fa-f:.%]+]|[^:\\[\\]]+)(?::(\\d{1,5}))?");

    /**
     * Reads a URL. Whether the scheme, the path and the options are right is for the caller to say.
     *
     * @param url the URL
     * @param product the store, for messages: {@code Redis}
     * @param form what a URL of that store looks like, for messages
     * @param defaultPort the port of a server that names none
     * @throws IllegalArgumentException if it does not look so; the message shows the form and no password
     */
    public static StoreUrl parse(String url, String product, String form, int defaultPort) {
        Matcher matcher = URL.matcher(url);
        if (!matcher.matches() || endsInALogin(matcher)) {
            throw wrong(url, product, form);
        }
        List<ServerAddress> servers = new ArrayList<>();
        for (String server : matcher.group(3).split(",", -1)) {
            Matcher parts = SERVER.matcher(server);
            if (!parts.matches()) {
                throw wrong(url, product, form);
            }
            servers.add(
                    new ServerAddress(parts.group(1).replaceAll("[\\[\\]]", ""), port(parts.group(2), defaultPort)));
        }
        if (servers.size() > MAX_SERVERS) {
            throw new IllegalArgumentException("A URL can name " + MAX_SERVERS + " servers, but had " + servers.size()
                    + ": " + withoutPassword(url));
        }
        String login = matcher.group(2);
        int colon = login == null ? -1 : login.indexOf(':');
        return new StoreUrl(
                matcher.group(1),
                login == null ? null : UrlOptions.decodedText(colon < 0 ? login : login.substring(0, colon)),
                colon < 0 ? null : UrlOptions.decodedText(login.substring(colon + 1)),
                servers,
                matcher.group(4) == null ? "" : matcher.group(4),
                matcher.group(5) == null ? "" : matcher.group(5));
    }

    // After a slash or a question mark that a password has unencoded, its rest looks like a path or options.
    private static boolean endsInALogin(Matcher url) {
        return url.start(3) < url.group().lastIndexOf('@');
    }

    /** What is thrown if a URL does not have the form of its store. The message shows the form and no password. */
    public static IllegalArgumentException wrong(String url, String product, String form) {
        return new IllegalArgumentException("The URL of a store in " + product + " is " + form + ", but was "
                + withoutPassword(url) + ". Encode : / ? @ % in user and password as %3A %2F %3F %40 %25");
    }

    private static int port(@Nullable String text, int defaultPort) {
        int port = text == null ? defaultPort : Integer.parseInt(text);
        if (port < 1 || port > ServerAddress.MAX_PORT) {
            throw new IllegalArgumentException("The port must be 1 to " + ServerAddress.MAX_PORT + ", but was " + port);
        }
        return port;
    }

    /** Scheme, servers and path, for messages; neither the login nor the options, which may have passwords. */
    @Override
    public String toString() {
        return scheme + "://" + servers.stream().map(ServerAddress::toString).collect(Collectors.joining(",")) + path;
    }

    /**
     * A URL as it may be shown, for messages and logs: the login and each option whose name ends in {@code password} are
     * replaced by {@code ***}, and so are the options after it, which may be the rest of a password that has an
     * unencoded {@code &}. It need not be a URL of the right form. Of a login in a URL of JDBC the user stays.
     */
    public static String withoutPassword(String url) {
        Matcher option = (url.startsWith("jdbc:") ? PASSWORD_OF_JDBC : PASSWORD_OPTION).matcher(url);
        if (!option.find()) {
            return withoutLogin(url);
        }
        String before = url.substring(0, option.end());
        int login = before.indexOf("//");
        // This may be a login whose password contains what looks like an option.
        return url.indexOf('@', option.end()) >= 0 && login >= 0
                ? url.substring(0, login) + "//***"
                : withoutLogin(before) + "***";
    }

    // A password may have an unencoded slash, question mark or @, so everything up to the last @ is taken for the
    // login.
    private static String withoutLogin(String url) {
        return url.startsWith("jdbc:")
                ? url.replaceAll("(?s)(//[^/@:]*:).*@", "$1***@")
                : url.replaceAll("(?s)//.*@", "//***@");
    }
}
