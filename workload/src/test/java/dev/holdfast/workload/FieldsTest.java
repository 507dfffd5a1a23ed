package dev.holdfast.workload;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;

class FieldsTest {

    @Test
    void aLineIsReadAsItWasWritten() {
        Fields fields = new Fields()
                .with("text", "a \"quoted\" \\ line\nand another, é")
                .with("whole", Long.MIN_VALUE)
                .with("real", -12.5)
                .with("none", List.of())
                .with("list", List.of(1L, -2L, Long.MAX_VALUE))
                .with("unknown", Double.NaN);
        Fields read = Fields.parse(fields.toString());
        assertThat(read.text("text")).isEqualTo("a \"quoted\" \\ line\nand another, é");
        assertThat(read.whole("whole")).isEqualTo(Long.MIN_VALUE);
        assertThat(read.real("real")).isEqualTo(-12.5);
        assertThat(read.list("list")).containsExactly(1L, -2L, Long.MAX_VALUE);
        assertThat(read.list("none")).isEmpty();
        assertThat(read.has("unknown")).isFalse();
        assertThat(read.real("unknown")).isNaN();
        assertThat(fields.toString().lines()).hasSize(1);
    }

    @Test
    void whatIsNoLineOfFieldsIsRefused() {
        for (String wrong : new String[] {"", "x", "{", "{\"a\" 1}", "{\"a\": }", "{\"a\": [1 2]}", "{\"a\": \"b"}) {
            assertThatThrownBy(() -> Fields.parse(wrong)).as(wrong).isInstanceOf(IllegalArgumentException.class);
        }
    }
}
