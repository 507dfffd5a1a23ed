package dev.holdfast.springintegration;

import dev.holdfast.jdbc.Servers;

class PostgresLockRegistryTest extends RegistryScenarios {

    private static final String URL = Servers.url("postgresql");

    PostgresLockRegistryTest() {
        super(URL);
    }
}
