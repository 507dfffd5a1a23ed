package dev.holdfast.redis.record;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.LockName;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LockKeysTest {

    private final LockKeys keys = new LockKeys("holdfast:");

    @ParameterizedTest
    @ValueSource(
            strings = {"order:42", "}", "}x", "}}", "{", "{}", "a}b", "{a}b", "}:order", "\u00e4 \ud83d\udd12", "0{0}"})
    void nameCanBeReadBack(String value) {
        LockName name = new LockName(value);
        byte[] key = keys.key(name);
        String text = new String(key, StandardCharsets.UTF_8);
        assertThat(keys.isKey(key)).isTrue();
        assertThat(keys.name(key)).isEqualTo(name);
        assertThat(keys.isKey((text + ":other").getBytes(StandardCharsets.UTF_8)))
                .isFalse();
    }

    /** One of them made every search fail: list() asks for the names of all keys. */
    @Test
    void keysWhoseNamesAreNoneAreNotOurs() {
        for (String text : new String[] {
            "holdfast:{}", "holdfast:{a\nb}", "holdfast:{" + "x".repeat(256) + "}", "holdfast:0{0}a}", "holdfast:{}a}"
        }) {
            assertThat(keys.isKey(text.getBytes(StandardCharsets.UTF_8)))
                    .as(text)
                    .isFalse();
        }
        assertThat(keys.isKey("holdfast:{\u00ff}".getBytes(StandardCharsets.ISO_8859_1)))
                .as("no UTF-8")
                .isFalse();
    }

    @Test
    void noTwoNamesShareAKey() {
        Set<String> seen = new HashSet<>();
        char[] alphabet = {'{', '}', '0', ':', 'a'};
        for (int i = 0; i < 5 * 5 * 5 * 5; i++) {
            StringBuilder name = new StringBuilder();
            for (int rest = i, n = 0; n < 4; n++, rest /= 5) {
                name.append(alphabet[rest % 5]);
            }
            for (int length = 1; length <= 4; length++) {
                LockName lock = new LockName(name.substring(0, length));
                byte[] key = keys.key(lock);
                assertThat(keys.name(key)).isEqualTo(lock);
                seen.add(new String(key, StandardCharsets.UTF_8));
            }
        }
        assertThat(seen).hasSize(5 + 25 + 125 + 625);
    }

    @Test
    void patternsTakeNamesLiterally() {
        assertThat(new String(keys.pattern("a*b[c]?\\"), StandardCharsets.UTF_8))
                .isEqualTo("holdfast:{a\\*b\\[c\\]\\?\\\\*}");
        assertThat(new String(keys.pattern(""), StandardCharsets.UTF_8)).isEqualTo("holdfast:*}");
        assertThat(new String(keys.pattern("}x"), StandardCharsets.UTF_8)).isEqualTo("holdfast:0{0}}x*}");
    }
}
