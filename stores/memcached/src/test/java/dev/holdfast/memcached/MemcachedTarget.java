package dev.holdfast.memcached;

import dev.holdfast.testkit.nemesis.TargetServer;
import dev.holdfast.testkit.process.MemcachedServer;

/** A server that is disturbed. */
record MemcachedTarget(MemcachedServer server) implements TargetServer {

    @Override
    public String url(int port) {
        return "memcached://127.0.0.1:" + port + "?timeout=1s";
    }
}
