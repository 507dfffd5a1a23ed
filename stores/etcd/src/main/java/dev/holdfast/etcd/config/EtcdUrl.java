package dev.holdfast.etcd.config;

import dev.holdfast.store.ServerAddress;
import dev.holdfast.store.StoreUrl;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * {@code etcd://[user:password@]host[:port][,host[:port]...][?option=value&...]}, or {@code etcds://} for TLS. User,
 * password and values may be percent-encoded.
 *
 * @param user the user, or null if the URL has none
 * @param password the password, or null
 */
public record EtcdUrl(
        boolean tls,
        @Nullable String user,
        @Nullable String password,
        List<ServerAddress> servers,
        EtcdOptions options) {

    public static final String FORM = "etcd[s]://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...][?OPTION=VALUE&...]";

    private static final String PRODUCT = "etcd";
    private static final int DEFAULT_PORT = 2379;

    /**
     * Reads a URL.
     *
     * @throws IllegalArgumentException if the URL is wrong; the message does not show a password
     */
    public static EtcdUrl parse(String text) {
        return StoreUrl.parse(text, PRODUCT, FORM, DEFAULT_PORT, url -> of(url, text));
    }

    private static EtcdUrl of(StoreUrl url, String text) {
        boolean tls = url.scheme().equals("etcds");
        boolean isEtcd = tls || url.scheme().equals("etcd");
        boolean hasWholeLogin = url.user() == null || (!url.user().isEmpty() && url.password() != null);
        if (!isEtcd || !hasWholeLogin || !url.path().matches("/?")) {
            throw StoreUrl.wrong(text, PRODUCT, FORM);
        }
        EtcdOptions options = EtcdOptions.parse(url.query());
        if (!tls && options.hasFiles()) {
            throw new IllegalArgumentException("Options ca, cert and key are for TLS: begin the URL with etcds://");
        }
        return new EtcdUrl(tls, url.user(), url.password(), url.servers(), options);
    }

    /** The servers of this URL, without user and password, for messages. */
    @Override
    public String toString() {
        return "etcd" + (tls ? "s" : "") + "://"
                + String.join(",", servers.stream().map(ServerAddress::toString).toList());
    }
}
