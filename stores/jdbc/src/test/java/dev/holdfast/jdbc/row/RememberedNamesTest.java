package dev.holdfast.jdbc.row;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.LockName;
import org.junit.jupiter.api.Test;

class RememberedNamesTest {

    /** With a new name for each job, names that do not come again would fill it for good. */
    @Test
    void newNamesAreRememberedAlsoAfterVeryManyThatDoNotComeAgain() {
        RememberedNames names = new RememberedNames();
        for (int i = 0; i < 100_000; i++) {
            LockName name = new LockName("name-" + i);
            names.saw(name, true);
            assertThat(names.contains(name)).isTrue();
        }
        LockName last = new LockName("name-99999");
        names.saw(last, false);
        assertThat(names.contains(last)).isFalse();
    }
}
