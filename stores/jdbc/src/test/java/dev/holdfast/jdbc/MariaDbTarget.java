package dev.holdfast.jdbc;

import dev.holdfast.testkit.nemesis.TargetServer;

/** A server of MariaDB that is disturbed, with a database of its own. */
record MariaDbTarget(MariaDbServer server, String direct) implements TargetServer {

    MariaDbTarget(MariaDbServer server) {
        this(server, server.mariaUrl(server.newDatabase()));
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
