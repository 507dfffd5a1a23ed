package dev.holdfast.memcached.client;

import dev.holdfast.memcached.config.MemcachedOptions;
import dev.holdfast.memcached.config.MemcachedUrl;
import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import java.io.File;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;

/**
 * The TLS settings of a URL. The server's certificate must be trusted and name the host.
 *
 * <p>Each connection has a context of its own, so no session is resumed: a server that asks for certificates
 * ({@code ssl_verify_mode}) breaks off the handshake of a resumed session.
 */
final class Tls {

    private final MemcachedUrl url;

    private Tls(MemcachedUrl url) {
        this.url = url;
    }

    /** @throws IllegalArgumentException if a file cannot be read */
    static Tls of(MemcachedUrl url) {
        Tls tls = new Tls(url);
        if (tls.isOn()) {
            tls.context();
        }
        return tls;
    }

    boolean isOn() {
        return url.tls();
    }

    SSLEngine engine(String host, int port) {
        return context().newEngine(ByteBufAllocator.DEFAULT, host, port);
    }

    private SslContext context() {
        MemcachedOptions options = url.options();
        try {
            SslContextBuilder builder =
                    SslContextBuilder.forClient().sslProvider(SslProvider.JDK).endpointIdentificationAlgorithm("HTTPS");
            String ca = options.ca();
            if (ca != null) {
                builder.trustManager(new File(ca));
            }
            String cert = options.cert();
            String key = options.key();
            if (cert != null && key != null) {
                builder.keyManager(new File(cert), new File(key));
            }
            return builder.build();
        } catch (SSLException | IllegalArgumentException unreadable) {
            throw new IllegalArgumentException(
                    "Options ca, cert and key must name PEM files that can be read: " + unreadable.getMessage(),
                    unreadable);
        }
    }
}
