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
                "quorum:redis://a,redis://b,redis://c?sentinelPassword=1#SECRET=1"
            })
    void wrongUrlsAreRefusedWithoutShowingAPassword(String url) {
        assertThatThrownBy(() -> new QuorumLockStoreProvider().open(url, MonotonicClock.SYSTEM))
                .isInstanceOf(IllegalArgumentException.class)
                .message()
                .isNotBlank()
                .doesNotContain("SECRET");
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
}
