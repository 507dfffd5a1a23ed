package dev.holdfast.jdbc.connection;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.Driver;

/** PostgreSQL's driver writes a URL that it does not understand to the log, so it is refused before the driver gets it. */
class DatabaseUrlTest {

    @ParameterizedTest
    @ValueSource(
            strings = {
                "jdbc:postgresql://h/",
                "jdbc:postgresql://h:5/db?user=me&options=/@",
                "jdbc:postgresql://a:1,b:2/db",
                "jdbc:postgresql:///db",
                "jdbc:postgresql://?user=me",
                "jdbc:postgresql:db?user=me",
            })
    void whatTheDriverUnderstandsIsTaken(String url) {
        assertThat(Driver.parseURL(url, new Properties())).isNotNull();
        assertThat(DatabaseUrl.of(url).url()).isEqualTo(url);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "jdbc:postgresql://h?user=me&password=secret",
                "jdbc:postgresql://me:secret?a=@h:1/db",
                "jdbc:postgresql://h/db/more?user=me&password=secret",
                "jdbc:postgresql://me:secret@h/db",
            })
    void whatTheDriverWouldLogIsRefused(String url) {
        assertThat(Driver.parseURL(url, new Properties())).isNull();
        assertThatThrownBy(() -> DatabaseUrl.of(url))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("jdbc:postgresql://HOST[:PORT][,HOST...]/DATABASE")
                .message()
                .doesNotContain("secret");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "jdbc:postgresql://h:99999/db?password=a,\nsecret",
                "jdbc:oracle:thin:me/secret@//h:1521/x",
            })
    void urlThatNoDriverTakesIsRefused(String url) {
        assertThatThrownBy(() -> DatabaseUrl.of(url).requireDriver())
                .isInstanceOf(IllegalArgumentException.class)
                .hasNoCause()
                .hasMessageContaining("No JDBC driver on the class path takes jdbc:")
                .message()
                .doesNotContain("secret");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "jdbc:mariadb://a,b/db",
                "jdbc:mariadb://a:1,b:2?user=me",
                "jdbc:mariadb:sequential://a,b/db",
                "jdbc:mariadb://address=(host=a)(port=1),address=(host=b)(port=2)/db",
            })
    void amongSeveralServersOfMariaDbTheDriverPassesOverThoseThatAreReadOnly(String url) {
        assertThat(properties(url).getProperty("initSql")).contains("read_only").doesNotContain(";");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "jdbc:mariadb://a/db?sessionVariables=x=1,y=2",
                "jdbc:mariadb:sequential://a/db",
                "jdbc:mariadb://address=(host=a)(port=1)/db",
                "jdbc:mysql://a,b/db",
                "jdbc:mariadb://a,b/db?initSql=DO%201",
                "jdbc:mariadb://a,b/db?initsql=DO%201",
                "jdbc:mariadb:replication://a,b/db",
                "jdbc:mariadb:loadbalance://address=(host=a)(type=replica),address=(host=b)/db",
            })
    void oneServerOrAReplicaThatIsAskedForMayBeReadOnly(String url) {
        assertThat(properties(url)).doesNotContainKey("initSql");
    }

    @Test
    void postgresNotifiesWithoutAPauseUnlessTheUserHasSockets() {
        assertThat(properties("jdbc:postgresql://a/db"))
                .containsEntry("socketFactory", PromptSocketFactory.class.getName());
        assertThat(properties("jdbc:postgresql://a/db?socketFactory=x.Y")).doesNotContainKey("socketFactory");
        assertThat(properties("jdbc:mariadb://a/db")).doesNotContainKey("socketFactory");
    }

    /** What a driver would take from the URL, whichever of the two it prefers. */
    @ParameterizedTest
    @CsvSource({"mariadb,false", "mysql,true", "postgresql,true"})
    void nameOfAnOptionInAnotherCaseCountsIfTheDriverTakesIt(String product, boolean oursIsSet) {
        String url = "jdbc:" + product + "://h/db?SOCKETTIMEOUT=7";
        assertThat(properties(url).containsKey("socketTimeout")).isEqualTo(oursIsSet);
    }

    /** By the driver's defaults a call could take half a minute while no server is there. */
    @ParameterizedTest
    @CsvSource(
            delimiter = ' ',
            nullValues = "none",
            value = {
                "jdbc:mariadb:sequential://a/db 4",
                "jdbc:mariadb:sequential://a,b/db 4",
                "jdbc:mariadb:replication://a,b,c,d,e/db?password=x,y 6",
                "jdbc:mariadb:loadbalance://a/db?retriesAllDown=9 none",
                "jdbc:mariadb://a,b/db none",
            })
    void inAModeTheDriverTriesEachServerOfMariaDbAndNotForLong(String url, String tries) {
        assertThat(properties(url).getProperty("retriesAllDown")).isEqualTo(tries);
    }

    private static Properties properties(String url) {
        return DatabaseUrl.of(url).properties(Duration.ofSeconds(3), Duration.ofSeconds(5), true);
    }
}
