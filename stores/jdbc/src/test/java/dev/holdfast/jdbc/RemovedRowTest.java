package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.testkit.RecordingListener;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A row that is removed while a claim waits, as that of a wait set may be just after a signal. */
class RemovedRowTest extends Servers {

    /** The notification of a signal, and a poll, found no row and took it for one that was not changed. */
    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb", "mysql"})
    void claimWhoseRowIsGoneIsGone(String product) {
        // Nobody refreshes the ticket meanwhile.
        String url = url(product) + "&holdfast.ticketTtl=10m";
        LockStore store = open(url);
        RecordingListener stays = waiting(store, alice.waitSet(new LockName("stays")));
        RecordingListener goes = waiting(store, alice.waitSet(name));
        run(
                url.replace("&holdfast.ticketTtl=10m", ""),
                "DELETE FROM holdfast_lock WHERE name = '" + name.value() + "'");
        awaitUntil(() -> goes.outcome().isPresent());
        assertThat(stays.outcome()).isEmpty();
    }
}
