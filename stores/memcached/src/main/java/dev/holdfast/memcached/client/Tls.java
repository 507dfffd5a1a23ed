package dev.holdfast.memcached.client;

import dev.holdfast.memcached.config.MemcachedOptions;
import dev.holdfast.memcached.config.MemcachedUrl;
import io.netty.buffer.ByteBufAllocator;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.netty.handler.ssl.SslProvider;
import java.io.File;
import java.util.Objects;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** The TLS settings of a URL. The server's certificate must be trusted and name the host. */
final class Tls {

    private final @Nullable SslContext context;

    private Tls(@Nullable SslContext context) {
        this.context = context;
    }

    /** @throws IllegalArgumentException if a file cannot be read */
    static Tls of(MemcachedUrl url) {
        if (!url.tls()) {
            return new Tls(null);
        }
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
            return new Tls(builder.build());
        } catch (SSLException | IllegalArgumentException unreadable) {
            throw new IllegalArgumentException(
                    "Options ca, cert and key must name PEM files that can be read: " + unreadable.getMessage(),
                    unreadable);
        }
    }

    boolean isOn() {
        return context != null;
    }

    SSLEngine engine(String host, int port) {
        return Objects.requireNonNull(context, "TLS is off").newEngine(ByteBufAllocator.DEFAULT, host, port);
    }
}
