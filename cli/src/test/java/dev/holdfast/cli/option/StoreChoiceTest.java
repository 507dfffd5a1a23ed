package dev.holdfast.cli.option;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.cli.output.Failure;
import java.util.Map;
import org.junit.jupiter.api.Test;

class StoreChoiceTest {

    private static String url(String option, Map<String, String> environment, String userHome) {
        return StoreChoice.of(option, environment::get, userHome).url();
    }

    @Test
    void theOptionComesFirstThenTheVariableThenTheStateFolder() {
        Map<String, String> all = Map.of("HOLDFAST_STORE", "redis://b", "XDG_STATE_HOME", "/state", "HOME", "/home/u");
        assertThat(url("redis://a", all, "")).isEqualTo("redis://a");
        assertThat(url(null, all, "")).isEqualTo("redis://b");
        assertThat(url(null, Map.of("HOLDFAST_STORE", "", "XDG_STATE_HOME", "/state"), ""))
                .isEqualTo("sqlite:/state/holdfast/locks.db");
        assertThat(url(null, Map.of("XDG_STATE_HOME", "relative", "HOME", "/home/u"), ""))
                .isEqualTo("sqlite:/home/u/.local/state/holdfast/locks.db");
        assertThat(url(null, Map.of(), "/home/v")).isEqualTo("sqlite:/home/v/.local/state/holdfast/locks.db");
    }

    @Test
    void anEmptyOptionIsAUsageErrorAndNotTheDefault() {
        assertThatThrownBy(() -> url("", Map.of("HOLDFAST_STORE", "redis://b"), "/home/v"))
                .isInstanceOf(Failure.class)
                .hasMessageContaining("--store is empty");
    }

    @Test
    void whatExcludesNobodyIsRefusedWhereProcessesAreToExcludeEachOther() {
        assertThatThrownBy(() -> StoreChoice.of("memory:").shared())
                .isInstanceOf(Failure.class)
                .hasMessageContaining("exclude nobody");
        assertThat(StoreChoice.of("sqlite:x").shared().url()).isEqualTo("sqlite:x");
    }

    @Test
    void noHomeIsAUsageErrorThatSaysWhatToSet() {
        assertThatThrownBy(() -> url(null, Map.of(), ""))
                .hasMessageContaining("HOME or XDG_STATE_HOME, or give --store");
    }
}
