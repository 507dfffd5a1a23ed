package dev.holdfast.jdbc.connection;

import dev.holdfast.jdbc.config.ServerOptions;
import dev.holdfast.jdbc.dialect.DistributedPostgresDialect;
import dev.holdfast.jdbc.dialect.GenericDialect;
import dev.holdfast.jdbc.dialect.MariaDbDialect;
import dev.holdfast.jdbc.dialect.MySqlDialect;
import dev.holdfast.jdbc.dialect.PostgresDialect;
import dev.holdfast.jdbc.dialect.PostgresProduct;
import dev.holdfast.jdbc.dialect.ServerDialect;
import dev.holdfast.store.StoreUrl;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Locale;
import java.util.Properties;
import java.util.regex.Pattern;

/**
 * The URL of a database server: which dialect the server speaks, and which settings its driver gets so that no call
 * hangs.
 *
 * @param url as the driver takes it
 * @param shown the same without a password
 */
public record DatabaseUrl(String url, String shown) {

    /**
     * What PostgreSQL's driver logs if it is otherwise: no slash or two behind the hosts, or a login where a port should be.
     */
    private static final Pattern POSTGRES =
            Pattern.compile("(?s)jdbc:postgresql:(//([^/@?]*/[^/?]*)?|(?!//)[^?]*)(\\?.*)?");

    /**
     * Takes a driver's URL.
     *
     * @throws IllegalArgumentException if the driver would log it, with a password in it, because it does not understand it
     */
    public static DatabaseUrl of(String url) {
        DatabaseUrl read = new DatabaseUrl(url, StoreUrl.withoutPassword(url));
        if (read.isPostgres() && !POSTGRES.matcher(url).matches()) {
            throw new IllegalArgumentException("The URL of a database in PostgreSQL is"
                    + " jdbc:postgresql://HOST[:PORT][,HOST...]/DATABASE?user=USER&password=PASSWORD, with no other / or @ before"
                    + " the question mark, but was " + read.shown);
        }
        return read;
    }

    /** What PostgreSQL's driver takes as a list of servers, of which it chooses one: in the authority, or as a property. */
    private static final Pattern SEVERAL_SERVERS =
            Pattern.compile("(?s)jdbc:postgresql:(//[^/?]*,.*|[^?]*\\?(.*&)?(PGHOST|host)=[^&]*(,|%2C|%2c).*)");

    /** What MariaDB's driver takes as a list of servers of which any may be the primary, for each new connection. */
    private static final Pattern SEVERAL_OF_MARIA =
            Pattern.compile("(?s)jdbc:mariadb:(?!(?i:replication:|.*\\(type=replica\\)))([^/?]*:)?//[^/?]*,.*");

    /** A mode in which MariaDB's driver replaces connections by itself. */
    private static final Pattern MODE_OF_MARIA = Pattern.compile("(?s)jdbc:mariadb:[^/?]+//.*");

    /** How often it then looks for a server in the midst of a call, if there are no more servers than that. */
    private static final int LEAST_TRIES = 4;

    /**
     * Fails on a server that is read-only, also for a user whom such a server lets write: then the driver opens the
     * connection to the next one. It has no semicolon, at which the driver would divide it.
     */
    private static final String REQUIRE_PRIMARY = "EXECUTE IMMEDIATE IF(@@GLOBAL.read_only IN ('0', 'OFF'), 'DO 0',"
            + " 'SIGNAL SQLSTATE ''HY000'' SET MYSQL_ERRNO = 1290, MESSAGE_TEXT = ''The server is read-only. Locks need"
            + " the server that may write: name the primary in the URL, or promote this one''')";

    private static final String SESSION_VARIABLES = "sessionVariables";

    /** Whether it names several servers of PostgreSQL. */
    boolean namesSeveralServers() {
        return SEVERAL_SERVERS.matcher(url).matches();
    }

    /**
     * Checks that a driver takes the URL. The pool would say so with a message in which a part of a password may remain.
     *
     * @throws IllegalArgumentException if none does
     */
    void requireDriver() {
        try {
            DriverManager.getDriver(url);
        } catch (SQLException none) {
            throw new IllegalArgumentException(
                    "No JDBC driver on the class path takes " + shown
                            + ". Add the driver of the database, and check the form of the URL, its port, and what is not encoded in it");
        }
    }

    @Override
    public String toString() {
        return shown;
    }

    public boolean isPostgres() {
        return url.startsWith("jdbc:postgresql:");
    }

    private boolean isMaria() {
        return url.startsWith("jdbc:mariadb:");
    }

    private boolean isMySql() {
        return url.startsWith("jdbc:mysql:");
    }

    /**
     * The dialect of the product that the URL names.
     *
     * @param sessionsAreOurs whether connections have the settings of {@link #properties}
     * @throws IllegalArgumentException if it needs an option that is missing
     */
    public ServerDialect dialect(ServerOptions options, boolean sessionsAreOurs) {
        options.check(shown, isPostgres(), isPostgres());
        if (isPostgres()) {
            return new PostgresDialect(shown, options.relaxed(), namesSeveralServers());
        }
        if (isMaria()) {
            return new MariaDbDialect(shown, sessionsAreOurs && !setsSessions());
        }
        return isMySql()
                ? new MySqlDialect(shown, sessionsAreOurs && !setsSessions())
                : GenericDialect.of(shown, options);
    }

    /**
     * The dialect of the database that PostgreSQL's driver has reached.
     *
     * @param version what its {@code version()} has returned
     * @throws IllegalArgumentException if it lacks what an option needs
     */
    public ServerDialect dialect(ServerOptions options, String version) {
        PostgresProduct product = PostgresProduct.of(version);
        if (product == PostgresProduct.POSTGRESQL) {
            return dialect(options, true);
        }
        String where = shown + ", which is " + product.label();
        options.check(where, false, false);
        product.require(version, where);
        return new DistributedPostgresDialect(shown, product);
    }

    /** Whether {@link #properties} limit how long the driver waits for an answer. */
    boolean isOfKnownDriver() {
        return isPostgres() || isMaria() || isMySql();
    }

    /** Whether connections must be set to READ COMMITTED because the database's default level causes deadlocks. */
    boolean wantsReadCommitted() {
        return isMaria() || isMySql();
    }

    /**
     * Time limits, and how statements are prepared. A property that the user has set in the URL is not overridden.
     */
    public Properties properties(Duration statementTimeout, Duration connectTimeout, boolean serverPrepare) {
        Properties properties = new Properties();
        if (isPostgres()) {
            put(properties, "socketTimeout", Long.toString(statementTimeout.toSeconds()));
            put(properties, "connectTimeout", Long.toString(Math.max(1, connectTimeout.toSeconds())));
            put(properties, "tcpKeepAlive", "true");
            put(properties, "ApplicationName", "holdfast");
            if (PromptSocketFactory.isVisibleToDriver()) {
                put(properties, "socketFactory", PromptSocketFactory.class.getName());
            }
            if (!serverPrepare) {
                put(properties, "prepareThreshold", "0");
            }
        } else if (isMaria() || isMySql()) {
            put(properties, "socketTimeout", Long.toString(statementTimeout.toMillis()));
            put(properties, "connectTimeout", Long.toString(connectTimeout.toMillis()));
            // The least that each of them has; a transaction of several rows sets its own.
            put(properties, SESSION_VARIABLES, "innodb_lock_wait_timeout=" + (isMaria() ? 0 : 1));
            if (isMaria()) {
                put(properties, "useServerPrepStmts", Boolean.toString(serverPrepare));
            }
            if (SEVERAL_OF_MARIA.matcher(url).matches()) {
                put(properties, "initSql", REQUIRE_PRIMARY);
            }
            if (MODE_OF_MARIA.matcher(url).matches()) {
                // The driver would pass over a server for a minute after one failure, and look for one that it can
                // reach up to 120 times in the midst of a call.
                put(properties, "deniedListTimeout", "1000");
                put(properties, "retriesAllDown", Long.toString(Math.max(LEAST_TRIES, servers() + 1)));
            }
        }
        return properties;
    }

    // Those of MariaDB, which are divided by commas. One that refuses to be the primary counts as a try.
    private long servers() {
        return 1 + url.split("[?]", 2)[0].chars().filter(c -> c == ',').count();
    }

    /** Whether the user sets variables of the sessions, which takes the place of what {@link #properties} set. */
    private boolean setsSessions() {
        return sets(SESSION_VARIABLES);
    }

    private void put(Properties properties, String name, String value) {
        if (!sets(name)) {
            properties.setProperty(name, value);
        }
    }

    /** Whether the user sets an option. MariaDB's driver takes its name in any case; the others ignore one in another case. */
    private boolean sets(String option) {
        String setting = option + "=";
        return isMaria()
                ? url.toLowerCase(Locale.ROOT).contains(setting.toLowerCase(Locale.ROOT))
                : url.contains(setting);
    }
}
