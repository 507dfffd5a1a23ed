package dev.holdfast.testkit.nemesis;

import dev.holdfast.testkit.process.ControlledServer;
import dev.holdfast.testkit.process.FaultProxy;
import dev.holdfast.testkit.process.NetworkNamespace;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What connects one member with the server: a proxy and, if the scenario wants that, a network of the member's own. Used by one
 * thread at a time, and closed by any.
 */
final class Line implements AutoCloseable {

    private static final String HERE = "127.0.0.1";

    private final @Nullable NetworkNamespace network;
    private final FaultProxy proxy;

    Line(ControlledServer server, boolean isPartitioned) {
        network = isPartitioned ? NetworkNamespace.make() : null;
        try {
            proxy = new FaultProxy(server.port(), FaultProxy.Framing.NONE, InetAddress.getByName(host()));
        } catch (UnknownHostException failure) {
            throw new AssertionError(failure);
        }
    }

    private String host() {
        return network == null ? HERE : network.host();
    }

    /** The URL by which the member reaches the server. */
    String url(Scenario scenario) {
        return scenario.url(proxy.port()).replace(HERE, host());
    }

    /** What stands before the command of the member. */
    List<String> prefix() {
        return network == null ? List.of() : network.prefix();
    }

    FaultProxy proxy() {
        return proxy;
    }

    NetworkNamespace network() {
        if (network == null) {
            throw new IllegalStateException("The member has no network of its own");
        }
        return network;
    }

    /** Once the member has ended. */
    @Override
    public void close() {
        proxy.close();
        if (network != null) {
            network.close();
        }
    }
}
