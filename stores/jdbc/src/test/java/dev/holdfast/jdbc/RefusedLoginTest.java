package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Databases that cannot be reached: the error has the reason of the database itself, not only that there is no connection. */
class RefusedLoginTest extends Servers {

    private static final String BRIEFLY = "holdfast.busyTimeout=1500ms";

    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb"})
    void anUnknownDatabaseIsNamed(String product) {
        String url = url(product).replaceAll("/[a-z0-9]+\\?", "/no_such_place?");
        refused(url + "&" + BRIEFLY, false, "no_such_place");
    }

    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mysql"})
    void anUnknownUserIsNamed(String product) {
        String url = url(product).replaceAll("user=[a-z]+", "user=stranger");
        refused(url + "&" + BRIEFLY, false, "stranger");
    }

    @ParameterizedTest
    @ValueSource(strings = {"mariadb"})
    void anAbsentServerIsTriedAgain(String product) {
        String url = url(product).replaceAll("127.0.0.1:[0-9]+", "127.0.0.1:1");
        refused(url + "&" + BRIEFLY, true, "onnect");
    }

    @Test
    void aDatabaseOfH2HasAUserAndAPassword() {
        String url = "jdbc:h2:" + folder.resolve("locks");
        LockStore store = open(loaded(url + ";user=me;PASSWORD=secret"));
        granted(store, alice.mutex(new LockName("a")));
        hidesPassword(store, "secret");
        refused(url + ";USER=me;PASSWORD=guess?" + BRIEFLY, false, "Wrong user name or password");
        refused("jdbc:h2:" + folder.resolve("other") + ";IFEXISTS=TRUE?" + BRIEFLY, false, "not found");
    }

    private void refused(String url, boolean retryable, String reason) {
        assertThatThrownBy(() -> open(url))
                .isInstanceOfSatisfying(StoreException.class, failure -> {
                    assertThat(failure.effect()).isEqualTo(Effect.NONE);
                    assertThat(failure.retryable()).as("%s", failure).isEqualTo(retryable);
                    assertThat(failure.getMessage()).doesNotContain("guess");
                })
                .hasMessageContaining(reason);
    }
}
