package dev.holdfast.jdbc;

import dev.holdfast.testkit.nemesis.TargetServer;

/** A server of PostgreSQL that is disturbed, with a schema of its own. */
record PostgresTarget(PostgresServer server, String direct) implements TargetServer {

    PostgresTarget(PostgresServer server) {
        this(server, server.newSchema());
    }

    @Override
    public String url(int port) {
        return direct.replace(":" + server.port(), ":" + port);
    }
}
