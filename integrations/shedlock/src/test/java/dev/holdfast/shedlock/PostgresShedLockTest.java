package dev.holdfast.shedlock;

import dev.holdfast.jdbc.Servers;

class PostgresShedLockTest extends ShedLockKit {

    PostgresShedLockTest() {
        super(Servers.url("postgresql"));
    }
}
