package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tables and options with which locks cannot be shared: each error says what is wrong and what to do. */
class AdoptedSchemaTest extends Servers {

    private static final String INSERT = "&holdfast.layout=insert&holdfast.theirTable=t";
    private static final String FLAG = "&holdfast.layout=flag&holdfast.theirTable=t&holdfast.flagColumn=f";

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "h2|(x INT)|INSERT|no column name|nameColumn",
                "h2|(name VARCHAR(50))|INSERT|not unique by itself|ADD UNIQUE",
                "h2|(name VARCHAR(50), a INT, UNIQUE (name, a))|INSERT|not unique by itself|ADD UNIQUE",
                "postgresql|(name CHAR(50) PRIMARY KEY)|INSERT|filled up with blanks|VARCHAR",
                "mariadb|(name VARCHAR(50) PRIMARY KEY) ENGINE = MyISAM|INSERT|MyISAM|ENGINE = InnoDB",
                "mariadb|(name VARCHAR(50) PRIMARY KEY, a INT NOT NULL)|INSERT|column a needs a value|default",
                "postgresql|(name VARCHAR(50) PRIMARY KEY)|FLAG|no column f|flagColumn",
                "postgresql|(name VARCHAR(50) PRIMARY KEY, f DATE)|FLAG|has no value \"0\"|free and held",
                "mariadb|(name VARCHAR(50) PRIMARY KEY, f INT)|FLAG&holdfast.held=Y|has no value \"Y\"|free and held",
                "h2|(name VARCHAR(50) PRIMARY KEY, o VARCHAR(10))|INSERT&holdfast.ownerColumn=o|too short|40 characters",
                "postgresql|(name VARCHAR(50) PRIMARY KEY, o TEXT, b TIMESTAMP)|INSERT&holdfast.ownerColumn=o&holdfast.timeColumn=b"
                        + "|what time it means|timeZone=utc",
                "h2|(name VARCHAR(50) PRIMARY KEY, f BOOLEAN)|FLAG&holdfast.free=TRUE&holdfast.held=1|the same|free and held",
                "postgresql|(name VARCHAR(50) PRIMARY KEY, f BOOLEAN)|FLAG&holdfast.held=false|the same|free and held",
                "mariadb|(name VARCHAR(50) PRIMARY KEY, f INT)|FLAG&holdfast.held=00|the same|free and held",
                "h2|(name VARCHAR(50) PRIMARY KEY, f VARCHAR_IGNORECASE(1))|FLAG&holdfast.free=h&holdfast.held=H|the same|free and held",
                "postgresql|(name VARCHAR(50) PRIMARY KEY, f CHAR(2))|FLAG&holdfast.free=h&holdfast.held=h%20|the same|free and held",
                "mariadb|(name VARCHAR(50) PRIMARY KEY, f CHAR(1))|FLAG&holdfast.free=h&holdfast.held=H|the same|free and held",
                "mariadb|(name VARCHAR(50) PRIMARY KEY, f CHAR(1))|FLAG&holdfast.free=e&holdfast.held=%C3%A9|the same|free and held",
                "mariadb|(name VARCHAR(50) PRIMARY KEY)|INSERT&holdfast.nameColumn=%22name%22|cannot be read|quotes",
            })
    void tableIsRefused(String product, String columns, String options, String what, String remedy) {
        String url = url(product);
        run(url, "CREATE TABLE t " + columns);
        assertThatThrownBy(() -> open(url + options.replace("INSERT", INSERT).replace("FLAG", FLAG)))
                .isInstanceOfSatisfying(StoreException.class, failure -> {
                    assertThat(failure).hasMessageContaining(what).hasMessageContaining(remedy);
                    assertThat(failure.effect()).isEqualTo(Effect.NONE);
                    assertThat(failure.retryable()).isFalse();
                });
    }

    /** Held is the other one of two truth values unless something else is said. */
    @ParameterizedTest
    @ValueSource(strings = {"h2", "postgresql"})
    void truthValuesMayBeTheOtherWayRound(String product) {
        String url = url(product);
        run(url, "CREATE TABLE t (name VARCHAR(50) PRIMARY KEY, f BOOLEAN)");
        var store = open(url + FLAG + "&holdfast.free=true");
        var claim = alice.mutex(this.name);
        granted(store, claim);
        busy(store, bob.mutex(this.name));
        assertThat(released(store, claim)).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"h2", "postgresql", "mariadb"})
    void missingTableIsRefusedAndNoneIsMade(String product) {
        String url = url(product);
        assertThatThrownBy(() -> open(url + INSERT)).hasMessageContaining("no table t");
        run(url, "CREATE TABLE t_holdfast (a INT)");
    }

    /** An index with a condition lets other rows have the same name. */
    @ParameterizedTest
    @ValueSource(strings = "WHERE name <> 'x'")
    void conditionalIndexIsNotUnique(String condition) {
        String url = url("postgresql");
        run(url, "CREATE TABLE t (name TEXT)", "CREATE UNIQUE INDEX ON t (name) " + condition);
        assertThatThrownBy(() -> open(url + INSERT)).hasMessageContaining("not unique");
        run(url, "CREATE UNIQUE INDEX ON t (name)");
        open(url + INSERT);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "layout=rows|one of record, insert, flag",
                "layout=insert|needs the option theirTable",
                "theirTable=t|no such layout was given",
                "layout=flag&holdfast.theirTable=t|needs the option flagColumn",
                "layout=insert&holdfast.theirTable=t&holdfast.flagColumn=f|for layout=flag",
                "layout=insert&holdfast.theirTable=t;DROP TABLE t|Option theirTable",
                "layout=insert&holdfast.theirTable=t&holdfast.nameColumn=a=1 OR b|Option nameColumn",
                "layout=insert&holdfast.theirTable=t&holdfast.ownerColumn=name|named twice",
                "layout=insert&holdfast.theirTable=t&holdfast.timeColumn=b|needs the option ownerColumn",
                "layout=insert&holdfast.theirTable=t&holdfast.deadAfter=1m|needs the option timeColumn",
                "layout=flag&holdfast.theirTable=t&holdfast.flagColumn=f&holdfast.free=1|different values",
                "table=mine&holdfast.layout=insert&holdfast.theirTable=t|Option table",
            })
    void optionsAreRefused(String options, String what) {
        String url = url("h2");
        assertThatThrownBy(() -> open(url + "&holdfast." + options))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(what);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "h2|\"Job Lock\"|\"the name\"|\"f\" BOOLEAN|\"f\"",
                "postgresql|\"Job Lock\"|\"the name\"|f BOOLEAN|f",
                "mariadb|`Job Lock`|`the name`|f TINYINT(1)|f",
            })
    void quotedNamesAndTruthValuesAreTaken(String product, String table, String name, String flag, String flagName) {
        String url = url(product);
        run(url, "CREATE TABLE " + table + " (" + name + " VARCHAR(50) PRIMARY KEY, " + flag + " NOT NULL)");
        var store = open(url + "&holdfast.layout=flag&holdfast.theirTable=" + encoded(table) + "&holdfast.nameColumn="
                + encoded(name) + "&holdfast.flagColumn=" + encoded(flagName));
        var claim = alice.mutex(this.name);
        granted(store, claim);
        busy(store, bob.mutex(this.name));
        assertThat(released(store, claim)).isTrue();
        granted(store, bob.mutex(this.name));
    }

    private static String encoded(String text) {
        return text.replace(" ", "%20").replace("\"", "%22").replace("`", "%60");
    }
}
