package dev.holdfast.redis;

import dev.holdfast.testkit.nemesis.TargetServer;

/** A server that is disturbed. */
record RedisTarget(RedisServer server) implements TargetServer {

    @Override
    public String url(int port) {
        return "redis://127.0.0.1:" + port + "?timeout=1s";
    }
}
