package dev.holdfast.jdbc.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.jdbc.JdbcLockStore;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.LockStoreProvider;
import dev.holdfast.spi.MonotonicClock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ServiceLoader;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** URLs, and what is wrong with them. */
class StoreOptionsTest {

    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "sqlite:                                    | path of a file",
                "sqlite::memory:                            | memory:",
                "sqlite:~/x.db                              | is not expanded",
                "sqlite:x.db?                               | NAME=VALUE",
                "sqlite:x.db?colour=red                     | Unknown option \"colour\"",
                "sqlite:x.db?keep=59s                       | keep must be 24 h to 36500 d, but was 59 s",
                "sqlite:x.db?keep=soon                      | such as 500ms",
                "sqlite:x.db?busyTimeout=0s                 | busyTimeout must be",
                "sqlite:x.db?ticketTtl=1ms                  | ticketTtl must be",
                "sqlite:x.db?ticketTtl=1s&ticketTtl=2s      | twice",
                "sqlite:x.db?boot=a b                       | boot must match",
                "jdbc:h2:mem:x?holdfast.colour=red          | Unknown option \"colour\"",
                "jdbc:h2:mem:x?holdfast.boot=1              | Unknown option \"boot\"",
                "jdbc:h2:mem:x?holdfast.keep                | NAME=VALUE",
                "jdbc:h2:mem:x?ticketTtl=2s                 | must be written holdfast.ticketTtl",
                "jdbc:mariadb://h/db?user=u&schema=check    | must be written holdfast.schema",
                "jdbc:postgresql://h/db?layout=flag         | must be written holdfast.layout",
                "jdbc:oracle:thin:password=s3cret;x         | MySQL and H2 are known",
            })
    void wrongUrlsSayWhatIsWrong(String url, String message) {
        assertThatThrownBy(() -> open(url))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(message)
                .hasMessageNotContaining("s3cret");
    }

    @Test
    void noDataSourceIsRefusedByName() {
        assertThatNullPointerException()
                .isThrownBy(() -> JdbcLockStore.over(null))
                .withMessage("database");
    }

    /** The time-out is another one than the default, and long: it also limits the wait for the first connection of a cold JVM. */
    @Test
    void optionsAreObeyed() {
        try (LockStore store =
                open("sqlite:" + folder.resolve("a.db") + "?busyTimeout=9500ms&ticketTtl=PT2S&keep=7d")) {
            assertThat(store.traits().ticketTtl()).isEqualTo(Duration.ofSeconds(2));
            // The wait for a thread, that for the connection, and a second.
            assertThat(store.traits().callTimeout()).isEqualTo(Duration.ofMillis(20_000));
        }
        try (LockStore store = open("jdbc:h2:mem:options?holdfast.busyTimeout=9500ms&holdfast.ticketTtl=2s")) {
            assertThat(store.traits().ticketTtl()).isEqualTo(Duration.ofSeconds(2));
            // The wait for a thread, that for its turn, that for the pool to open a connection, and a second.
            assertThat(store.traits().callTimeout()).isEqualTo(Duration.ofMillis(29_500));
        }
    }

    @Test
    void missingFoldersAndTheFileAreForTheOwnerAlone() throws Exception {
        Path file = folder.resolve("new").resolve("deep").resolve("locks.db");
        open("sqlite:" + file).close();
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file)))
                .isEqualTo("rw-------");
        assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(file.getParent())))
                .isEqualTo("rwx------");
        assertThat(PosixFilePermissions.toString(
                        Files.getPosixFilePermissions(file.getParent().getParent())))
                .isEqualTo("rwx------");
    }

    private static LockStore open(String url) {
        return ServiceLoader.load(LockStoreProvider.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(provider -> provider.accepts(url))
                .findFirst()
                .orElseThrow()
                .open(url, MonotonicClock.SYSTEM);
    }
}
