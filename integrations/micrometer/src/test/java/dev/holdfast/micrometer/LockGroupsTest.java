package dev.holdfast.micrometer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class LockGroupsTest {

    @Test
    void whatVariesIsAStar() {
        LockGroups groups = LockGroups.byPattern();
        assertThat(List.of(
                                "nightly",
                                "order:42",
                                "shop/eu-1/item:a7#tail",
                                "user:abcdefab-abcd-abcd-abcd-abcdefabcdef",
                                "7")
                        .stream()
                        .map(groups::of))
                .containsExactly("nightly", "order:*", "shop/eu-*/item:*#tail", "user:*", "*");
    }

    @Test
    void randomNamesMakeOneGroup() {
        LockGroups groups = LockGroups.byPattern();
        Set<String> seen = new HashSet<>();
        for (int i = 0; i < 10_000; i++) {
            seen.add(groups.of("session:" + UUID.randomUUID()));
        }
        assertThat(seen).containsExactly("session:*");
    }

    /** The bound holds also for threads that come at once, and for a function that bounds nothing. */
    @Test
    void thereAreNeverMoreGroupsThanTheBound() {
        LockGroups groups = LockGroups.byName().withMost(10);
        Set<String> seen = ConcurrentHashMap.newKeySet();
        IntStream.range(0, 10_000).parallel().forEach(i -> seen.add(groups.of("name-" + i)));
        assertThat(seen).hasSize(11).contains(LockGroups.OTHER);
        seen.stream()
                .filter(group -> !group.equals(LockGroups.OTHER))
                .forEach(group -> assertThat(groups.of(group)).isEqualTo(group));
    }

    @Test
    void theBoundMustLeaveRoom() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LockGroups.byPattern().withMost(0));
    }
}
