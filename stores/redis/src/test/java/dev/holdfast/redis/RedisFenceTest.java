package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.exceptions.JedisDataException;

class RedisFenceTest extends WithServer {

    private final String key = "{account:" + name + "}";

    @Test
    void writesOfAnOlderHolderAreRefused() throws InterruptedException {
        try (Holdfast locks = Holdfast.connect(server.url())) {
            Lease first = locks.lock(name.value()).acquire();
            assertThat(write(first.token(), "SET", "by the first")).isEqualTo("OK");
            first.close();
            Lease second = locks.lock(name.value()).acquire();
            assertThat(write(second.token(), "SET", "by the second")).isEqualTo("OK");
            assertThatThrownBy(() -> write(first.token(), "SET", "late"))
                    .isInstanceOf(JedisDataException.class)
                    .hasMessageStartingWith("STALETOKEN")
                    .hasMessageContaining(key)
                    .hasMessageContaining("" + second.token());
            assertThat(write(second.token(), "APPEND", ", again")).isEqualTo(20L);
            second.close();
        }
        String kept = server.ask(jedis -> jedis.get(key));
        assertThat(kept).isEqualTo("by the second, again");
    }

    /** Such numbers are equal as floating point numbers, which is what scripts calculate with. */
    @Test
    void largeTokensAreComparedExactly() {
        write(Long.MAX_VALUE - 1, "SET", "1");
        assertThatThrownBy(() -> write(Long.MAX_VALUE - 2, "SET", "2")).hasMessageStartingWith("STALETOKEN");
        assertThatThrownBy(() -> write(99, "SET", "2")).hasMessageStartingWith("STALETOKEN");
        assertThat(write(Long.MAX_VALUE, "SET", "3")).isEqualTo("OK");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "0", "-1", "1.5", "01", "x"})
    void whatIsNoTokenIsRefused(String token) {
        assertThatThrownBy(() -> write(token, "SET", "1")).hasMessageContaining("fencing token");
        Long written = server.ask(jedis -> jedis.exists(key, key + ":token"));
        assertThat(written).isZero();
    }

    private Object write(long token, String... command) {
        return write(Long.toString(token), command);
    }

    private Object write(String token, String... command) {
        List<String> arguments = new ArrayList<>(List.of(token));
        arguments.addAll(List.of(command));
        return server.ask(jedis -> jedis.eval(RedisFence.script(), List.of(key, key + ":token"), arguments));
    }
}
