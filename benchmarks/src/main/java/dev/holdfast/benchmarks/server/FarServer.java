package dev.holdfast.benchmarks.server;

import dev.holdfast.testkit.process.FaultProxy;
import java.time.Duration;

/** A server behind a proxy that passes all bytes on some time after they came, as if it were in another building. */
public final class FarServer implements Server {

    private final Server server;
    private final FaultProxy proxy;
    private final long millis;

    public FarServer(Server server, long millis) {
        this.server = server;
        this.millis = millis;
        this.proxy = FaultProxy.before(server.url());
        proxy.delay(Duration.ofMillis(millis));
    }

    @Override
    public String url() {
        return proxy.in(server.url());
    }

    @Override
    public String target() {
        return proxy.in(server.target());
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
