package dev.holdfast.redis;

import dev.holdfast.testkit.nemesis.TargetServer;

/** A server that is disturbed. */
record RedisTarget(RedisServer server) implements TargetServer {

    @Override
    public int port() {
        return server.port();
    }

    @Override
    public String url(int port) {
        return "redis://127.0.0.1:" + port + "?timeout=1s";
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
