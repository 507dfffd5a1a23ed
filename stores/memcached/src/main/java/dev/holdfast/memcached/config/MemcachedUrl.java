package dev.holdfast.memcached.config;

import dev.holdfast.store.ServerAddress;
import dev.holdfast.store.StoreUrl;
import org.jspecify.annotations.Nullable;

/**
 * {@code memcached://[user:password@]host[:port][?option=value&...]}, or {@code memcacheds://} for TLS. User, password
 * and values may be percent-encoded.
 *
 * @param user the user, or null if the URL has none
 * @param password the password, or null
 */
public record MemcachedUrl(
        boolean tls, @Nullable String user, @Nullable String password, ServerAddress server, MemcachedOptions options) {

    public static final String FORM = "memcached[s]://[USER:PASSWORD@]HOST[:PORT][?OPTION=VALUE&...]";

    private static final String PRODUCT = "Memcached";
    private static final int DEFAULT_PORT = 11211;

    /**
     * Reads a URL.
     *
     * @throws IllegalArgumentException if the URL is wrong; the message does not show a password
     */
    public static MemcachedUrl parse(String text) {
        return StoreUrl.parse(text, PRODUCT, FORM, DEFAULT_PORT, url -> of(url, text));
    }

    private static MemcachedUrl of(StoreUrl url, String text) {
        boolean tls = url.scheme().equals("memcacheds");
        boolean isMemcached = tls || url.scheme().equals("memcached");
        boolean hasWholeLogin = url.user() == null || (!url.user().isEmpty() && url.password() != null);
        if (!isMemcached || !hasWholeLogin || !url.path().matches("/?")) {
            throw StoreUrl.wrong(text, PRODUCT, FORM);
        }
        if (url.servers().size() > 1) {
            throw new IllegalArgumentException("The URL of a store in Memcached names one server, but " + url
                    + " names " + url.servers().size()
                    + ". Locks are not spread over several by hashing, because a server that leaves would free its"
                    + " locks while they are held");
        }
        MemcachedOptions options = MemcachedOptions.parse(url.query());
        if (!tls && options.hasFiles()) {
            throw new IllegalArgumentException(
                    "Options ca, cert and key are for TLS: begin the URL with memcacheds://");
        }
        if (options.sasl() && url.user() == null) {
            throw new IllegalArgumentException("Option login=sasl needs a user and a password: " + FORM);
        }
        return new MemcachedUrl(tls, url.user(), url.password(), url.servers().get(0), options);
    }

    /** The server of this URL, without user and password, for messages. */
    @Override
    public String toString() {
        return "memcached" + (tls ? "s" : "") + "://" + server;
    }
}
