package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A database whose encoding does not have all characters. */
class Latin1Test extends Servers {

    @Test
    void namesAreListed() {
        PostgresServer server = PostgresServer.shared();
        server.run("public", "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
        LockStore store = open(server.url("public").replace("/postgres?", "/latin?"));
        for (String name : new String[] {"b-2", "a~1", "caf\u00e9-1", "caf\u00e9", "caf\u00e8", "cafz", "b-1", "b.1"}) {
            granted(store, alice.mutex(new LockName(name)));
        }
        assertThat(list(store, ""))
                .containsExactly("a~1", "b-1", "b-2", "b.1", "cafz", "caf\u00e8", "caf\u00e9", "caf\u00e9-1");
        assertThat(list(store, "b-")).containsExactly("b-1", "b-2");
        assertThat(list(store, "a~")).containsExactly("a~1");
        assertThat(list(store, "caf\u00e9")).containsExactly("caf\u00e9", "caf\u00e9-1");
        assertThat(list(store, "\u00e9")).isEmpty();
    }

    private static List<String> list(LockStore store, String prefix) {
        return get(store.list(prefix, 100)).stream().map(LockName::value).toList();
    }
}
