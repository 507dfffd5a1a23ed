package dev.holdfast.spi;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a store gets as the owner of a claim, whoever made it: short texts without control characters. */
class OwnerInfoTest {

    @Test
    void controlCharactersAreReplacedInEachText() {
        OwnerInfo owner = owner("\0\n", List.of("a\0b", "tab\t", "plain"));
        assertThat(owner).isEqualTo(owner("??", List.of("a?b", "tab?", "plain")));
    }

    @Test
    void textsAreCutAndNamesOfLocksAreNot() {
        String longest = "a".repeat(LockName.MAX_BYTES);
        OwnerInfo owner = owner("b".repeat(1_000), Collections.nCopies(100, longest + "a"));
        assertThat(owner)
                .isEqualTo(owner("b".repeat(OwnerInfo.MAX_TEXT), Collections.nCopies(OwnerInfo.MAX_HELD, longest)));
        assertThat(owner.held()).hasSize(OwnerInfo.MAX_HELD).allMatch(longest::equals);
    }

    private static OwnerInfo owner(String text, List<String> held) {
        return new OwnerInfo(text, text, 7, text, text, held);
    }
}
