package dev.holdfast.benchmarks.server;

import java.io.IOException;
import java.io.UncheckedIOException;

/** A server behind a {@link DelayProxy}, as if it were in another building. */
public final class FarServer implements Server {

    private final Server server;
    private final DelayProxy proxy;
    private final String port;
    private final long millis;

    public FarServer(Server server, long millis) {
        this.server = server;
        this.millis = millis;
        this.port = server.url().substring(server.url().lastIndexOf(':') + 1);
        try {
            this.proxy = new DelayProxy(Integer.parseInt(port), millis);
        } catch (IOException failed) {
            server.close();
            throw new UncheckedIOException(failed);
        }
    }

    private String behindProxy(String address) {
        return address.replace(":" + port, ":" + proxy.port());
    }

    @Override
    public String url() {
        return behindProxy(server.url());
    }

    @Override
    public String target() {
        return behindProxy(server.target());
    }

    @Override
    public String describe() {
        return server.describe() + ", " + millis + " ms away each way";
    }

    @Override
    public long requests() {
        return server.requests();
    }

    @Override
    public void close() {
        proxy.close();
        server.close();
    }
}
