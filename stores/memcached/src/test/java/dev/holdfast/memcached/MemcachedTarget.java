package dev.holdfast.memcached;

import dev.holdfast.testkit.nemesis.TargetServer;
import dev.holdfast.testkit.process.MemcachedServer;

/** A server that is disturbed. */
record MemcachedTarget(MemcachedServer server) implements TargetServer {

    @Override
    public int port() {
        return server.port();
    }

    @Override
    public String url(int port) {
        return "memcached://127.0.0.1:" + port + "?timeout=1s";
    }

    @Override
    public void freeze() {
        server.signal("STOP");
    }

    @Override
    public void thaw() {
        server.signal("CONT");
    }

    @Override
    public void kill() {
        server.kill();
    }

    @Override
    public boolean isRunning() {
        return server.isRunning();
    }

    @Override
    public void startAgain() {
        server.startAgain();
    }
}
