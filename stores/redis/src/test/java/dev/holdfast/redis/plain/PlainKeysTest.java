package dev.holdfast.redis.plain;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.LockName;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.util.JedisClusterCRC16;

class PlainKeysTest {

    private final PlainKeys keys = new PlainKeys("lock:");

    @ParameterizedTest
    @CsvSource({
        "order:42, lock:order:42, holdfast:plain:{lock:order:42}",
        "{a}b, lock:{a}b, holdfast:plain:{a}lock:{a}b",
        "a{b, lock:a{b, holdfast:plain:{lock:a{b}",
        "a}b, lock:a}b, holdfast:plain:{}lock:a}b",
        "{}b, lock:{}b, holdfast:plain:{}lock:{}b"
    })
    void twoKeysForAName(String name, String lock, String record) {
        assertThat(keys.lock(new LockName(name)))
                .asString(StandardCharsets.UTF_8)
                .isEqualTo(lock);
        assertThat(keys.record(new LockName(name)))
                .asString(StandardCharsets.UTF_8)
                .isEqualTo(record);
    }

    @ParameterizedTest
    @ValueSource(strings = {"order:42", "{", "{a", "{a}b", "x{{a}b}", "a{b}{c}", "\u00e4 \ud83d\udd12"})
    void bothAreInOneSlot(String text) {
        LockName name = new LockName(text);
        for (PlainKeys some : new PlainKeys[] {keys, new PlainKeys("")}) {
            String record = new String(some.record(name), StandardCharsets.UTF_8);
            assertThat(JedisClusterCRC16.getSlot(record)).isEqualTo(JedisClusterCRC16.getSlot(some.lock(name)));
            assertThat(JedisClusterCRC16.getSlot(record + ":tombs"))
                    .isEqualTo(JedisClusterCRC16.getSlot(some.lock(name)));
        }
    }

    /** What Redisson makes of names, in org.redisson.RedissonObject of 4.7.0. */
    @ParameterizedTest
    @CsvSource({
        "order:42, redisson_lock_queue:{lock:order:42}, redisson_lock__channel:{lock:order:42}, true",
        "{a}b, redisson_lock_queue:lock:{a}b, redisson_lock__channel:lock:{a}b, true",
        "a{b, redisson_lock_queue:lock:a{b, redisson_lock__channel:lock:a{b, false",
        "a}b, redisson_lock_queue:{lock:a}b}, redisson_lock__channel:{lock:a}b}, false"
    })
    void keysThatRedissonDerives(String name, String queue, String channel, boolean inOneSlot) {
        assertThat(keys.fairQueue(new LockName(name)))
                .asString(StandardCharsets.UTF_8)
                .isEqualTo(queue);
        assertThat(keys.channel(new LockName(name))).isEqualTo(channel);
        assertThat(keys.areInOneSlot(new LockName(name), true)).isEqualTo(inOneSlot);
        assertThat(keys.areInOneSlot(new LockName(name), false)).isEqualTo(!name.equals("a}b"));
    }

    @Test
    void noTwoNamesShareAKeyAndAllAreReadBack() {
        Set<String> seen = new HashSet<>();
        char[] alphabet = {'{', '}', ':', 'a'};
        int count = 0;
        for (int length = 1; length <= 5; length++) {
            for (int i = 0; i < Math.pow(alphabet.length, length); i++) {
                StringBuilder text = new StringBuilder();
                for (int rest = i, n = 0; n < length; n++, rest /= alphabet.length) {
                    text.append(alphabet[rest % alphabet.length]);
                }
                LockName name = new LockName(text.toString());
                seen.add(new String(keys.record(name), StandardCharsets.UTF_8));
                assertThat(keys.records().isKey(keys.record(name))).isTrue();
                assertThat(keys.records().name(keys.record(name))).isEqualTo(name);
                assertThat(keys.locks().isKey(keys.lock(name))).isTrue();
                assertThat(keys.locks().name(keys.lock(name))).isEqualTo(name);
                count++;
            }
        }
        assertThat(seen).hasSize(count);
    }

    @Test
    void othersKeysAreNoNames() {
        assertThat(keys.locks().isKey("lock:".getBytes(StandardCharsets.UTF_8))).isFalse();
        assertThat(keys.locks().isKey("lock:a\nb".getBytes(StandardCharsets.UTF_8)))
                .isFalse();
        assertThat(keys.locks().isKey("other".getBytes(StandardCharsets.UTF_8))).isFalse();
        assertThat(keys.locks().isKey(new byte[] {'l', 'o', 'c', 'k', ':', (byte) 0xff}))
                .isFalse();
        assertThat(keys.records().isKey("holdfast:plain:x".getBytes(StandardCharsets.UTF_8)))
                .isFalse();
        assertThat(keys.locks().pattern("a*")).asString(StandardCharsets.UTF_8).isEqualTo("lock:a\\**");
        assertThat(keys.records().pattern("a*"))
                .asString(StandardCharsets.UTF_8)
                .isEqualTo("holdfast:plain:*lock:a\\**");
    }
}
