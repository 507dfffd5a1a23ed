package dev.holdfast.store;

import dev.holdfast.spi.StoreException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
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
    /** Some databases ask for several passwords: {@code password1}. */
    private static final Pattern PASSWORD_OPTION = Pattern.compile("(?is)[?&;][^?&;=]*password\\d*=");
    /** A database may begin its options with any character. */
    private static final Pattern PASSWORD_OF_JDBC = Pattern.compile("(?i)password\\d*=");

    /** What precedes a login. The slashes may have been forgotten. */
    private static final Pattern LOGIN = Pattern.compile("//|^[a-zA-Z][^:/@]*:/?(?=[^:/@]*:)");
    /**
     * What precedes the password of a login, in the forms {@code //USER:PASSWORD@}, also if slashes were forgotten, and {@code
     * USER/PASSWORD@}.
     */
    private static final Pattern LOGIN_OF_JDBC =
            Pattern.compile("//[^/@:]*:|^jdbc:(?:postgresql|mariadb|mysql):/?[^/@:?;]*:|^jdbc:oracle:[^:/]*:[^/@]*/");
    /**
     * The only @ is in the name of a user, so a colon before it precedes the port. A semicolon precedes no option of the drivers
     * that are named here, but it may stand in a password.
     */
    private static final Pattern USER_WITH_AT =
            Pattern.compile("(?is)(?!jdbc:(?:postgresql|mariadb|mysql):[^?]*;)jdbc:[\\w:]+//[\\w.-]*(:\\d+)?(/[^@?;]*)?"
                    + "(\\?([^@?]*&)?|;([^@?]*;)?)user=[^@?&;]*@[^@]*");

    /** What ends an option, and may stand in a password. */
    private static final Pattern BETWEEN_OPTIONS = Pattern.compile("[&;?]");
    /** Where messages about options show what the URL has. */
    private static final Pattern WHAT_WAS_WRONG =
            Pattern.compile("(?s)(Unknown option )\"[^\"]*\"|(but (?:one )?was ).*");
    /** Longer texts are not in a message by chance. */
    private static final int LONGEST_BY_CHANCE = 3;

    private static final String JDBC = "jdbc:";
    private static final String MASK = "***";

    private static final Pattern SERVER = Pattern.compile("(\\[[0-9A-Fa-f:.%]+]|[^:\\[\\]]+)(?::(\\d{1,5}))?");

    /**
     * Reads a URL. Whether the scheme, the path and the options are right is for the reader to say.
     *
     * <p>A password with an unencoded slash or question mark may look like a port and what follows the servers, so
     * what refuses a URL with a later {@code @} could show a part of it. Such a refusal is replaced by one that shows
     * nothing before the last {@code @}. If the reader accepts the URL, the {@code @} is a part of a name in it.
     *
     * @param url the URL
     * @param product the store, for messages: {@code Redis}
     * @param form what a URL of that store looks like, for messages
     * @param defaultPort the port of a server that names none
     * @param reader makes of the parts what the store needs, or refuses them by an IllegalArgumentException
     * @throws IllegalArgumentException if it does not look so; the message shows the form and no password
     */
    public static <T> T parse(String url, String product, String form, int defaultPort, Function<StoreUrl, T> reader) {
        Matcher matcher = URL.matcher(url);
        if (!matcher.matches()) {
            throw wrong(url, product, form);
        }
        List<Matcher> servers =
                Stream.of(matcher.group(3).split(",", -1)).map(SERVER::matcher).toList();
        if (!servers.stream().allMatch(Matcher::matches)) {
            throw wrong(url, product, form);
        }
        try {
            return reader.apply(of(matcher, servers, defaultPort));
        } catch (IllegalArgumentException refused) {
            if (mayEndInALogin(matcher)) {
                throw new IllegalArgumentException(wrong(url, product, form).getMessage()
                        + ", and each @ that does not end a login as %40; then the message says more");
            }
            throw hiding(url, refused);
        }
    }

    /**
     * Reads the options of a URL that {@link #parse} does not read. What an unencoded {@code &} has made of the rest of a
     * password may look like an option, so what refuses one could show that. Such a refusal is replaced by one that does not.
     *
     * @param url the URL
     * @param reader refuses what is wrong by an IllegalArgumentException
     * @throws IllegalArgumentException if the reader refuses something; the message shows no password
     */
    public static <T> T hidingPassword(String url, Supplier<T> reader) {
        try {
            return reader.get();
        } catch (IllegalArgumentException refused) {
            throw hiding(url, refused);
        }
    }

    private static IllegalArgumentException hiding(String url, IllegalArgumentException refused) {
        List<String> hidden = hidden(url);
        if (hidden.stream().noneMatch(part -> BETWEEN_OPTIONS.matcher(part).find())) {
            return refused;
        }
        // Without its cause, which may show what the message shows.
        String message = WHAT_WAS_WRONG
                .matcher(String.valueOf(refused.getMessage()))
                .replaceAll(
                        "$1$2" + MASK + " (not shown, as it may be part of a password whose & is not encoded as %26)");
        boolean shows = hidden.stream()
                .flatMap(BETWEEN_OPTIONS::splitAsStream)
                .map(option -> option.substring(option.indexOf('=') + 1))
                .flatMap(value -> Stream.of(value, UrlOptions.decodedOrNot(value)))
                .anyMatch(value -> value.length() > LONGEST_BY_CHANCE && message.contains(value));
        return new IllegalArgumentException(
                shows
                        ? "What is wrong in " + withoutPassword(url) + " is not shown, as it may be part of a password"
                                + " whose & is not encoded as %26"
                        : message);
    }

    /**
     * What is thrown instead of a failure to open a store: the same, unless it, its causes or what was suppressed show a
     * password. Drivers show a URL, or a part of it, that they do not understand.
     */
    static RuntimeException hiding(String url, RuntimeException failure) {
        StringWriter trace = new StringWriter();
        failure.printStackTrace(new PrintWriter(trace));
        if (secrets(url).noneMatch(secret -> secret.matcher(trace.getBuffer()).find())) {
            return failure;
        }
        String message = "What is wrong in " + withoutPassword(url) + " (a "
                + failure.getClass().getSimpleName()
                + ") is not shown, because it would show a part of a password. Encode what is neither a letter nor a digit in"
                + " passwords, such as & as %26, as far as the database's driver decodes it";
        if (!(failure instanceof StoreException known)) {
            return new IllegalArgumentException(message);
        }
        return known.retryable()
                ? StoreException.unavailable(known.effect(), message, null)
                : StoreException.refused(message, null);
    }

    // What shows a password, and is nowhere by chance: a password alone may be a common word.
    // The name of the option in any case, but a password as it is: our own messages say password=PASSWORD.
    private static Stream<Pattern> secrets(String url) {
        return hidden(url).stream().filter(region -> !region.isEmpty()).flatMap(region -> {
            String[] parts = BETWEEN_OPTIONS.split(region, -1);
            Pattern option = Pattern.compile("(?i:password=)" + Pattern.quote(parts[0].isEmpty() ? region : parts[0]));
            return Stream.concat(
                    Stream.of(Pattern.compile(Pattern.quote(region + "@")), option),
                    Stream.of(parts)
                            .skip(1)
                            .flatMap(part -> secretsOfRest(part, isOfJdbc(url)))
                            .map(secret -> Pattern.compile(secret, Pattern.LITERAL | Pattern.CASE_INSENSITIVE)));
        });
    }

    // The rest of a password, or another option. Only drivers show an option as it stands in the URL.
    private static Stream<String> secretsOfRest(String part, boolean isOfDriver) {
        int equals = part.indexOf('=');
        String name = equals < 0 ? part : part.substring(0, equals);
        return Stream.of("\"" + name + "\"", "'" + name + "'", equals < 0 || isOfDriver ? part : "")
                .filter(secret -> secret.length() > LONGEST_BY_CHANCE);
    }

    private static StoreUrl of(Matcher url, List<Matcher> servers, int defaultPort) {
        if (servers.size() > MAX_SERVERS) {
            throw new IllegalArgumentException("A URL can name " + MAX_SERVERS + " servers, but had " + servers.size()
                    + ": " + withoutPassword(url.group()));
        }
        String login = url.group(2);
        int colon = login == null ? -1 : login.indexOf(':');
        return new StoreUrl(
                url.group(1),
                login == null ? null : UrlOptions.decodedText(colon < 0 ? login : login.substring(0, colon)),
                colon < 0 ? null : UrlOptions.decodedText(login.substring(colon + 1)),
                servers.stream().map(server -> address(server, defaultPort)).toList(),
                url.group(4) == null ? "" : url.group(4),
                url.group(5) == null ? "" : url.group(5));
    }

    private static ServerAddress address(Matcher server, int defaultPort) {
        return new ServerAddress(server.group(1).replaceAll("[\\[\\]]", ""), port(server.group(2), defaultPort));
    }

    // Whether what precedes the last @, which stands after the servers, may be a user and a password.
    private static boolean mayEndInALogin(Matcher url) {
        int at = url.group().lastIndexOf('@');
        int authority = url.end(1) + "://".length();
        return at > url.start(3) && url.group().substring(authority, at).indexOf(':') >= 0;
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

    /**
     * Scheme, servers and path, for messages; neither the login nor the options, which may have passwords. Nothing but
     * the scheme if an {@code @} follows the servers, which may be the end of a login.
     */
    @Override
    public String toString() {
        return scheme + "://"
                + ((path + query).indexOf('@') >= 0
                        ? MASK
                        : servers.stream().map(ServerAddress::toString).collect(Collectors.joining(",")) + path);
    }

    /**
     * A URL as it may be shown, for messages and logs: the login and each option whose name ends in {@code password},
     * or in that and a number, are replaced by {@code ***}, and so are the options after it, which may be the rest of a
     * password that has an unencoded {@code &}. It need not be a URL of the right form. Of a login in a URL of JDBC the
     * user stays.
     */
    public static String withoutPassword(String url) {
        Matcher option = passwordOption(url);
        if (!option.find()) {
            return withoutLogin(url);
        }
        int login = startOfLogin(url);
        // The option may be a part of a login's password.
        return login <= option.start() && url.indexOf('@', option.end()) >= 0
                ? url.substring(0, login) + MASK
                : withoutLogin(url.substring(0, option.end())) + MASK;
    }

    // A database may also be a node of a quorum.
    private static Matcher passwordOption(String url) {
        return (url.contains(JDBC) ? PASSWORD_OF_JDBC : PASSWORD_OPTION).matcher(url);
    }

    // What withoutPassword replaces.
    private static List<String> hidden(String url) {
        Matcher option = passwordOption(url);
        if (!option.find()) {
            return List.of(login(url));
        }
        int login = startOfLogin(url);
        return login <= option.start() && url.indexOf('@', option.end()) >= 0
                ? List.of(url.substring(login))
                : List.of(login(url.substring(0, option.end())), url.substring(option.end()));
    }

    // That of JDBC begins behind the user; another one has no password without a colon.
    private static String login(String url) {
        int login = startOfLogin(url);
        int at = url.lastIndexOf('@');
        String region = login <= at ? url.substring(login, at) : "";
        return isOfJdbc(url) || region.indexOf(':') >= 0 ? region : "";
    }

    // A password may have an unencoded slash, question mark or @, so everything up to the last @ is taken for the
    // login.
    private static String withoutLogin(String url) {
        int login = startOfLogin(url);
        int at = url.lastIndexOf('@');
        return login <= at ? url.substring(0, login) + MASK + url.substring(at) : url;
    }

    private static int startOfLogin(String url) {
        Matcher login = (isOfJdbc(url) ? LOGIN_OF_JDBC : LOGIN).matcher(url);
        return login.find() && !USER_WITH_AT.matcher(url).matches() ? login.end() : url.length();
    }

    private static boolean isOfJdbc(String url) {
        return url.startsWith(JDBC);
    }
}
