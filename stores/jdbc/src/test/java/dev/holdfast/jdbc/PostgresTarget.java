package dev.holdfast.jdbc;

import dev.holdfast.testkit.nemesis.TargetServer;

/** A server of PostgreSQL that is disturbed, with a schema of its own. */
record PostgresTarget(PostgresServer server, String direct) implements TargetServer {

    PostgresTarget(PostgresServer server) {
        this(server, server.newSchema());
    }

    @Override
    public int port() {
        return server.port();
    }

    @Override
    public String url(int port) {
        return direct.replace(":" + server.port(), ":" + port);
    }

    @Override
    public void freeze() {
        server.freeze();
    }

    @Override
    public void thaw() {
        server.thaw();
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
