package dev.holdfast.zookeeper.config;

import dev.holdfast.store.OptionTimes;
import dev.holdfast.store.UrlOptions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import javax.security.auth.login.Configuration;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.common.ClientX509Util;
import org.apache.zookeeper.common.PathUtils;
import org.apache.zookeeper.common.X509Util;
import org.apache.zookeeper.data.ACL;
import org.jspecify.annotations.Nullable;

/**
 * The options of a store in ZooKeeper. {@code ZooKeeperLockStoreProvider} documents them.
 *
 * @param values the options that were given, by name
 */
public record ZooKeeperOptions(Map<String, String> values) {

    private static final Duration DEFAULT_SESSION = Duration.ofSeconds(15);
    private static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(5);

    /** The options of a store that makes its own connection. */
    private static final List<String> URL_OPTIONS = List.of(
            "sessionTimeout",
            "timeout",
            "acl",
            "tls",
            "trustStore",
            "trustStorePassword",
            "keyStore",
            "keyStorePassword",
            "sasl");

    /** The options of a store over the user's client. */
    private static final List<String> CLIENT_OPTIONS = List.of("root", "timeout", "acl");

    /** Parses the part of a URL behind its question mark. */
    public static ZooKeeperOptions ofUrl(String query) {
        return parse(query, URL_OPTIONS);
    }

    /** Parses the options of a store over the user's client. */
    public static ZooKeeperOptions ofClient(String query) {
        return parse(query, CLIENT_OPTIONS);
    }

    private static ZooKeeperOptions parse(String query, List<String> allowed) {
        Map<String, String> values = UrlOptions.decoded(query);
        for (String name : values.keySet()) {
            if (!allowed.contains(name)) {
                throw UrlOptions.unknown(name, values, String.join(", ", allowed));
            }
        }
        ZooKeeperOptions options = new ZooKeeperOptions(values);
        options.check();
        return options;
    }

    private void check() {
        OptionTimes.check("sessionTimeout", sessionTimeout(), Duration.ofSeconds(1), Duration.ofMinutes(10));
        OptionTimes.check("timeout", timeout(), Duration.ofMillis(100), Duration.ofSeconds(20));
        acl(false);
        boolean stores = values.keySet().stream().anyMatch(name -> name.contains("Store"));
        if (!tls() && stores) {
            throw new IllegalArgumentException("Key and trust stores are for tls=true");
        }
        if (values.containsKey("root")) {
            checkRoot(root());
        }
    }

    public Duration sessionTimeout() {
        return time("sessionTimeout", DEFAULT_SESSION);
    }

    public Duration timeout() {
        return time("timeout", DEFAULT_TIMEOUT);
    }

    private Duration time(String name, Duration defaultValue) {
        String value = values.get(name);
        return value == null ? defaultValue : OptionTimes.parse(name, value);
    }

    public String root() {
        return values.getOrDefault("root", ZooKeeperUrl.DEFAULT_ROOT);
    }

    /** @throws IllegalArgumentException if the root is not a valid path of nodes, or is below {@code /zookeeper} */
    static String checkRoot(String root) {
        try {
            PathUtils.validatePath(root);
        } catch (IllegalArgumentException wrong) {
            throw new IllegalArgumentException(
                    "The root of the locks must be a path such as /locks, but was \"" + root + "\": "
                            + wrong.getMessage(),
                    wrong);
        }
        if (root.equals("/zookeeper") || root.startsWith("/zookeeper/")) {
            throw new IllegalArgumentException(
                    "The root of the locks cannot be below /zookeeper, which is ZooKeeper's own");
        }
        return root;
    }

    /**
     * The access rights on the nodes that the client creates.
     *
     * @param authenticated whether the client logs in; its nodes then belong to its login unless acl=open
     */
    public List<ACL> acl(boolean authenticated) {
        String value = values.getOrDefault("acl", authenticated ? "creator" : "open");
        return switch (value) {
            case "open" -> ZooDefs.Ids.OPEN_ACL_UNSAFE;
            case "creator" -> ZooDefs.Ids.CREATOR_ALL_ACL;
            default ->
                throw new IllegalArgumentException("Option acl must be open or creator, but was \"" + value + "\"");
        };
    }

    boolean tls() {
        String value = values.getOrDefault("tls", "false");
        if (!value.equals("true") && !value.equals("false")) {
            throw new IllegalArgumentException("Option tls must be true or false, but was \"" + value + "\"");
        }
        return value.equals("true");
    }

    /** The name of the section in the JAAS file; null if there is no login by SASL. */
    @Nullable
    public String sasl() {
        return values.get("sasl");
    }

    /** The configuration of the ZooKeeper client for SASL and TLS. */
    public ZKClientConfig clientConfig() {
        ZKClientConfig config = new ZKClientConfig();
        String section = sasl();
        config.setProperty(ZKClientConfig.ENABLE_CLIENT_SASL_KEY, Boolean.toString(section != null));
        if (section != null) {
            checkSection(section);
            config.setProperty(ZKClientConfig.LOGIN_CONTEXT_NAME_KEY, section);
        }
        if (tls()) {
            config.setProperty(ZKClientConfig.SECURE_CLIENT, "true");
            config.setProperty(
                    ZKClientConfig.ZOOKEEPER_CLIENT_CNXN_SOCKET, "org.apache.zookeeper.ClientCnxnSocketNetty");
            try (X509Util names = new ClientX509Util()) {
                set(config, names.getSslTruststoreLocationProperty(), "trustStore");
                set(config, names.getSslTruststorePasswdProperty(), "trustStorePassword");
                set(config, names.getSslKeystoreLocationProperty(), "keyStore");
                set(config, names.getSslKeystorePasswdProperty(), "keyStorePassword");
            }
        }
        return config;
    }

    // Checked here, because ZooKeeper's client would connect without a login.
    private static void checkSection(String section) {
        boolean known;
        try {
            known = Configuration.getConfiguration().getAppConfigurationEntry(section) != null;
        } catch (SecurityException noFile) {
            known = false;
        }
        if (!known) {
            throw new IllegalArgumentException("Option sasl names the section \"" + section
                    + "\", which the JVM's JAAS configuration does not have: name the file with"
                    + " -Djava.security.auth.login.config=FILE");
        }
    }

    private void set(ZKClientConfig config, String property, String option) {
        String value = values.get(option);
        if (value != null) {
            config.setProperty(property, value);
        }
    }

    /** The options without their passwords, for messages. */
    @Override
    public String toString() {
        return UrlOptions.withoutPasswords(values);
    }
}
