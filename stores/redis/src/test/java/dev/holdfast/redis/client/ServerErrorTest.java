package dev.holdfast.redis.client;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What errors of servers mean, in the words of Redis 5, 6.2, 7.0, 7.2 and 8 and of Valkey. */
class ServerErrorTest {

    private static final String OLD =
            "ERR Error running script (call to f_%1$s): @user_script:37: @user_script: 37: %2$s";
    private static final String NEW = "%2$s script: %1$s, on @user_script:37.";
    private static final String SCRIPT = "0123456789abcdef0123456789abcdef01234567";

    private static StoreException of(String form, String message) {
        return of(form.formatted(SCRIPT, message));
    }

    private static StoreException of(String message) {
        return ServerError.of(message, "name", null);
    }

    @ParameterizedTest
    @CsvSource({
        "LOADING Redis is loading the dataset in memory, true",
        "READONLY You can't write against a read only replica., true",
        "OOM command not allowed when used memory > 'maxmemory'., true",
        "CLUSTERDOWN The cluster is down, true",
        "TRYAGAIN Multiple keys request during rehashing of slot, true",
        "ERR max number of clients reached, true",
        "NOAUTH Authentication required., false",
        "ERR Protocol error: unauthenticated multibulk length, false",
        "WRONGPASS invalid username-password pair or user is disabled., false",
        "NOPERM this user has no permissions to run the 'evalsha' command, false",
        "NOPERM User u has no permissions to run the 'evalsha' command, false",
        "NOPERM No permissions to access a key, false",
        "'ERR unknown command `EVALSHA`, with args beginning with: ', false",
        "'ERR bad lua script for redis cluster, all the keys that the script uses should be passed using KEYS', false",
    })
    void whatWasRefusedAsAWholeHadNoEffect(String message, boolean retryable) {
        assertThat(of(message).effect()).isEqualTo(Effect.NONE);
        assertThat(of(message).retryable()).isEqualTo(retryable);
    }

    @ParameterizedTest
    @CsvSource({
        "-READONLY You can't write against a read only replica., true",
        "-OOM command not allowed when used memory > 'maxmemory'., true",
        "-MISCONF Redis is configured to save RDB snapshots, true",
        "-NOREPLICAS Not enough good replicas to write., true",
        "WRONGTYPE Operation against a key holding the wrong kind of value, false",
        "HOLDFAST-FOREIGN key k was written by somebody else: x, false",
    })
    void whatEndsAScriptBeforeItsFirstWriteHadNoEffect(String message, boolean retryable) {
        String bare = message.startsWith("-") ? message.substring(1) : message;
        for (StoreException failure : new StoreException[] {of(OLD, message), of(NEW, bare)}) {
            assertThat(failure.effect()).isEqualTo(Effect.NONE);
            assertThat(failure.retryable()).isEqualTo(retryable);
        }
    }

    /** A right, or a command, may be missing after the first write. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "The user executing the script can't run this command or subcommand",
                "The user executing the script can't access at least one of the keys mentioned in the command arguments",
                "-NOPERM this user has no permissions to run the 'zadd' command",
                "Unknown Redis command called from Lua script",
                "Script attempted to access a non local key in a cluster node",
            })
    void whatMayEndAScriptLaterHasAnUnknownEffect(String message) {
        assertThat(of(OLD, message).effect()).isEqualTo(Effect.UNKNOWN);
        assertThat(of(NEW, "ERR " + message).effect()).isEqualTo(Effect.UNKNOWN);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "ERR ACL failure in script: User u has no permissions to run the 'zadd' command",
                "NOPERM ACL failure in script: User u has no permissions to run the 'zadd' command",
                "ERR ACL failure in script: No permissions to access a key",
            })
    void newerWordsForMissingRightsHaveAnUnknownEffect(String message) {
        assertThat(of(message).effect()).isEqualTo(Effect.UNKNOWN);
        assertThat(of(NEW, message).effect()).isEqualTo(Effect.UNKNOWN);
        assertThat(of(NEW, message)).hasMessageContaining("rights");
    }

    /** Scripts that return an error as a part of their reply return it without the server's marks. */
    @ParameterizedTest
    @CsvSource({
        "WRONGTYPE Operation against a key holding the wrong kind of value, NONE",
        "NOPERM No permissions to access a key, UNKNOWN",
        "OOM command not allowed when used memory > 'maxmemory'., NONE",
        "user_script:55: HOLDFAST-FOREIGN key k was written by somebody else: x, NONE",
    })
    void whatAScriptReturnsAroseInsideOfIt(String message, Effect effect) {
        assertThat(ServerError.returned(message, "name").effect()).isEqualTo(effect);
    }

    @ParameterizedTest
    @ValueSource(strings = {"ERR something new", "SOMETHING ELSE"})
    void whatIsNotKnownHasAnUnknownEffect(String message) {
        assertThat(of(message).effect()).isEqualTo(Effect.UNKNOWN);
    }

    /** The name of a lock may contain any word, also those by which errors are recognised. */
    @Test
    void wordsInTheNameOfALockMeanNothing() {
        StoreException unknown = ServerError.of("ERR something else", "batch-TRYAGAIN", null);
        assertThat(ServerError.isDivided(unknown)).isFalse();
        assertThat(ServerError.isDivided(ServerError.of("LOADING data", "batch-TRYAGAIN", null)))
                .isFalse();
        assertThat(ServerError.isDivided(of("TRYAGAIN Multiple keys request during rehashing of slot")))
                .isTrue();
        StoreException damaged = ServerError.returned(
                "HOLDFAST-DAMAGED key holdfast:{batch-OOM} was written by somebody else: x", "name");
        assertThat(damaged.effect()).isEqualTo(Effect.UNKNOWN);
    }
}
