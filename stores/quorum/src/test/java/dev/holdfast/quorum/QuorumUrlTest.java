package dev.holdfast.quorum;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.spi.MonotonicClock;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class QuorumUrlTest {

    @Test
    void nodesAreSeparatedByACommaBeforeAScheme() {
        QuorumUrl url = QuorumUrl.parse(
                "quorum:redis://:a%2Cb@h1,rediss://h2:6380?timeout=1s,redis+lettuce://h3/2#maxLease=2m&nodeTimeout=1s&newNodes=true");
        assertThat(url.nodes())
                .containsExactly("redis://:a%2Cb@h1", "rediss://h2:6380?timeout=1s", "redis+lettuce://h3/2");
        assertThat(url.options()).isEqualTo(new QuorumOptions(Duration.ofMinutes(2), Duration.ofSeconds(1), true));
    }

    @Test
    void withoutOptionsTheDefaultsHold() {
        assertThat(QuorumUrl.parse("quorum:redis://a,redis://b,redis://c").options())
                .isEqualTo(QuorumOptions.DEFAULTS);
    }

    /** A cluster's URL names several hosts; as a node it is refused by its store's traits, not by the comma. */
    @Test
    void hostsOfOneStoreStayTogether() {
        assertThat(QuorumUrl.parse("quorum:redis://a:1,b:2,redis://c,redis://d").nodes())
                .containsExactly("redis://a:1,b:2", "redis://c", "redis://d");
        assertThat(QuorumUrl.parse("quorum:redis://u:secret@a,redis://b,redis://c"))
                .hasToString("quorum:redis://***@a,redis://b,redis://c");
    }

    private static final String REDIS = "redis://redis:1";

    /** One URL of each scheme that our stores open, and those that have commas and further schemes inside. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "redis://a:1,b:2?timeout=1s",
                "redis://u:p%2Cq@a",
                "rediss://a:1,b:2",
                "redis-sentinel://a:1,b:2/main",
                "rediss-sentinel://a,b/main/0",
                "redis+lettuce://a:1,b:2",
                "rediss+lettuce://a",
                "redis://memory:1,jdbc:2,sqlite:3,quorum:4/0",
                "zookeeper://a,b,c",
                "zookeeper://a:1,b:2,c:3/path?namespace=x",
                "etcd://a:2379,b:2379,c:2379",
                "etcds://u:p@a,b",
                "memcached://a:11211",
                "memcacheds://a",
                "memory:",
                "sqlite:/var/lib/locks.db",
                "sqlite:locks.db?durability=relaxed",
                "sqlite:1.db",
                "jdbc:postgresql://a/db",
                "jdbc:postgresql://a:1,b:2/db?targetServerType=primary&options=-c%20x",
                "jdbc:postgresql:db",
                "jdbc:mariadb://a:1,b:2/db",
                "jdbc:mariadb:replication://a,b/db",
                "jdbc:mysql:loadbalance://address=(host=a)(port=1),address=(host=b)(port=2)/db?user=x",
                "jdbc:h2:tcp://a/~/db",
                "jdbc:h2:/tmp/db;MODE=PostgreSQL",
                "jdbc:sqlserver://a:1433;databaseName=db",
                "jdbc:oracle:thin:@//a:1521,b:1521/db"
            })
    void nodeOfAnySchemeIsFoundInEachPlace(String node) {
        String other = "rediss://other:2?timeout=1s";
        assertThat(QuorumUrl.parse("quorum:" + node + "," + REDIS + "," + other).nodes())
                .containsExactly(node, REDIS, other);
        assertThat(QuorumUrl.parse("quorum:" + REDIS + "," + node + "," + other).nodes())
                .containsExactly(REDIS, node, other);
        assertThat(QuorumUrl.parse("quorum:" + REDIS + "," + other + "," + node + "#maxLease=2m")
                        .nodes())
                .containsExactly(REDIS, other, node);
    }

    @Test
    void nodesOfOneDatabaseProductAreToldApart() {
        assertThat(QuorumUrl.parse("quorum:jdbc:postgresql://a/x,jdbc:postgresql://b,c/x,jdbc:mariadb://d/x")
                        .nodes())
                .containsExactly("jdbc:postgresql://a/x", "jdbc:postgresql://b,c/x", "jdbc:mariadb://d/x");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "quorum:",
                "quorum:redis://a",
                "quorum:redis://a,redis://b",
                "quorum:redis://a,redis://b,redis://c,redis://d",
                "quorum:redis://a,redis://b,redis://a",
                "quorum:quorum:redis://a,redis://b,redis://c",
                "quorum:redis://a,redis://b,redis://c#",
                "quorum:redis://a,redis://b,redis://c#maxLease",
                "quorum:redis://a,redis://b,redis://c#maxLease=1s",
                "quorum:redis://a,redis://b,redis://c#maxLease=1m&maxLease=2m",
                "quorum:redis://a,redis://b,redis://c#newNodes=yes",
                "quorum:redis://a,redis://b,redis://c#timeout=1s",
                "quorum:redis://:SECRET@a,redis://:SECRET@b,redis://:SECRET@a#timeout=1s",
                "quorum:redis://:1#SECRET@a,redis://b,redis://c",
                "quorum:redis://a?password=1#SECRET,redis://b,redis://c",
                "quorum:redis://a?password=1#SECRET=1,redis://b,redis://c",
                "quorum:redis://:SECRET@a,redis://:SECRET@b",
                "quorum:redis://a,redis://b,redis://c?sentinelPassword=1#SECRET=1",
                "quorum:redis://a,quorum:redis://b,redis://c,redis://d",
                "quorum:redis://a,jdbc:postgresql://b/x",
                "quorum:jdbc:postgresql://u:SECRET@a/x,jdbc:postgresql://u:SECRET@b/x,jdbc:postgresql://u:SECRET@a/x",
                "quorum:jdbc:postgresql://a/x?password=SECRET,redis://b,jdbc:postgresql://a/x?password=SECRET",
                "quorum:redis://a,redis://a,jdbc:db2://b:1/x:password=SECRET;user=u;",
                "quorum:redis://a,redis://a,jdbc:oracle:thin:u/SECRET@b:1:x",
                "quorum:redis://a,redis://a,jdbc:oracle:thin:@b:1:x?password=SECRET"
            })
    void wrongUrlsAreRefusedWithoutShowingAPassword(String url) {
        assertThatThrownBy(() -> new QuorumLockStoreProvider().open(url, MonotonicClock.SYSTEM))
                .isInstanceOf(IllegalArgumentException.class)
                .message()
                .isNotBlank()
                .doesNotContain("SECRET");
    }

    /** An acquisition with two rounds, and a renewal that is repeated, must end long before the lease. */
    @Test
    void nodeTimeoutOfMoreThanATenthOfTheLongestLeaseIsRefused() {
        assertThatThrownBy(
                        () -> QuorumUrl.parse("quorum:redis://a,redis://b,redis://c#nodeTimeout=2001ms&maxLease=20s"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("nodeTimeout")
                .hasMessageContaining("PT2.001S")
                .hasMessageContaining("maxLease")
                .hasMessageContaining("PT20S")
                .hasMessageContaining("2000 ms or less")
                .hasMessageContaining("PT20.01S or more");
        assertThatThrownBy(() -> new QuorumOptions(Duration.ofSeconds(5), Duration.ofMillis(501), false))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("PT0.501S");
        assertThat(QuorumUrl.parse("quorum:redis://a,redis://b,redis://c#nodeTimeout=2s&maxLease=20s")
                        .options())
                .isEqualTo(new QuorumOptions(Duration.ofSeconds(20), Duration.ofSeconds(2), false));
    }

    @Test
    void nodeOfAnUnknownKindIsNamed() {
        assertThatThrownBy(() -> new QuorumLockStoreProvider()
                        .open("quorum:redis://a,redis://b,unknown://u:SECRET@c", MonotonicClock.SYSTEM))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("unknown://")
                .message()
                .doesNotContain("SECRET");
    }

    /** It is glued to no other node, so that the message can name what is missing. */
    @Test
    void nodeWhoseStoreIsNotOnTheClassPathIsNamed() {
        assertThatThrownBy(() -> new QuorumLockStoreProvider()
                        .open("quorum:redis://a,zookeeper://u:SECRET@b,redis://c", MonotonicClock.SYSTEM))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("\"zookeeper://***@b\"")
                .message()
                .doesNotContain("SECRET");
    }
}
