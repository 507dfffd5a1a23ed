package dev.holdfast.jdbc;

import dev.holdfast.testkit.nemesis.TargetServer;

/** A server of MariaDB that is disturbed, with a database of its own. */
record MariaDbTarget(MariaDbServer server, String direct) implements TargetServer {

    MariaDbTarget(MariaDbServer server) {
        this(server, server.mariaUrl(server.newDatabase()));
    }

    @Override
    public String url(int port) {
        return direct.replace(":" + server.port(), ":" + port);
    }
}
