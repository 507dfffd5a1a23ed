package dev.holdfast.cli.output;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class JsonTest {

    @Test
    void putsCommasBetweenAndNowhereElse() {
        Json json = new Json().open('{').name("a").value(1).name("b").open('[').close(']');
        json.name("c")
                .open('[')
                .value("x")
                .value(2)
                .open('{')
                .close('}')
                .close(']')
                .close('}');
        assertThat(json).hasToString("{\"a\": 1, \"b\": [], \"c\": [\"x\", 2, {}]}");
    }

    @Test
    void escapesWhatMustBeEscaped() {
        assertThat(new Json().value("q\" b\\ n\n r\r t\t")).hasToString("\"q\\\" b\\\\ n\\n r\\r t\\t\"");
        assertThat(new Json().value("\u0001\u007f\u2028")).hasToString("\"\\u0001\\u007f\\u2028\"");
        assertThat(new Json().value("é☃😀/")).hasToString("\"é☃😀/\"");
    }

    @Test
    void escapesHalfASurrogatePair() {
        assertThat(new Json().value("\ud83d")).hasToString("\"\\ud83d\"");
        assertThat(new Json().value("\ude00x")).hasToString("\"\\ude00x\"");
        assertThat(new Json().value("\ud83d\ud83d\ude00")).hasToString("\"\\ud83d\ud83d\ude00\"");
    }
}
