package dev.holdfast.cli.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What becomes of the variables is in {@code RunProcessTest}. */
class OddNamesTest {

    @Test
    void valuesAreInNoArguments() {
        Map<String, String> environment = new HashMap<>(Map.of("spring.datasource.password", "hunter2", "USER", "me"));
        assertThat(OddNames.replace(environment))
                .isEqualTo("-u HOLDFAST_VARIABLE_0 -- 'spring.datasource.password'=\"${HOLDFAST_VARIABLE_0}\"");
        assertThat(environment).isEqualTo(Map.of("HOLDFAST_VARIABLE_0", "hunter2", "USER", "me"));
    }
}
