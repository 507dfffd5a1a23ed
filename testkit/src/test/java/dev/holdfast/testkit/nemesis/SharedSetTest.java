package dev.holdfast.testkit.nemesis;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class SharedSetTest {

    @Test
    void whoeverWritesWhatIsThereWithOneMoreLosesNothing() {
        SharedSet set = new SharedSet(true);
        for (long token = 1; token <= 3; token++) {
            assertThat(set.write(token, set.read(token))).isTrue();
        }
        assertThat(set.writes()).isEqualTo(3);
        assertThat(set.lost()).isZero();
        assertThat(set.stale()).isZero();
    }

    @Test
    void staleWriteIsRefused() {
        SharedSet set = new SharedSet(true);
        int read = set.read(1);
        set.write(2, set.read(2));
        assertThat(set.write(1, read)).isFalse();
        assertThat(set.stale()).isEqualTo(1);
        assertThat(set.lost()).isZero();
    }

    @Test
    void staleTokenIsRefusedAsSoonAsALargerOneHasRead() {
        SharedSet set = new SharedSet(true);
        int read = set.read(1);
        set.read(2);
        assertThat(set.write(1, read)).isFalse();
        assertThat(set.read(1)).isNull();
    }

    @Test
    void withoutAFenceAStaleWriteLosesAllThatWasAddedSinceItsRead() {
        SharedSet set = new SharedSet(false);
        int read = set.read(1);
        set.write(2, set.read(2));
        set.write(3, set.read(3));
        assertThat(set.write(1, read)).isTrue();
        assertThat(set.stale()).isEqualTo(1);
        assertThat(set.lost()).isEqualTo(2);
        assertThat(set.writes()).isEqualTo(3);
    }

    /** One token for two holders is as bad as none. */
    @Test
    void aTokenOfTwoHoldersLosesWhatOneOfThemHasAdded() {
        SharedSet set = new SharedSet(true);
        int read = set.read(1);
        set.write(1, set.read(1));
        set.write(1, read);
        assertThat(set.lost()).isEqualTo(1);
    }
}
