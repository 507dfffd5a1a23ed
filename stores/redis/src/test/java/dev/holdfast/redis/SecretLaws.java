package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.holdfast.spi.LockStore;
import dev.holdfast.testkit.StoreTest;
import dev.holdfast.testkit.process.Ports;
import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** No password is in a message, a stack trace, the text of a store, or the name of a thread. */
public abstract class SecretLaws extends StoreTest {

    private static RedisServer server;
    private static RedisServer sentinel;

    @BeforeAll
    static void startTheServers() {
        server = RedisServer.start("--requirepass", "hunter2R");
        sentinel = RedisServer.startSentinel("--requirepass", "hunter2R");
    }

    @AfterAll
    static void stopTheServers() {
        server.close();
        sentinel.close();
    }

    /**
     * Opens a store.
     *
     * @param url the URL in the form for Jedis
     */
    protected abstract LockStore open(String url);

    @ParameterizedTest
    @ValueSource(
            strings = {
                "redis://user:hunter2A@127.0.0.1:NOBODY?timeout=300ms",
                "redis://:hunter2A@127.0.0.1:NOBODY,127.0.0.1:NOBODY?timeout=300ms",
                "redis-sentinel://user:hunter2A@127.0.0.1:NOBODY/locks?timeout=300ms&sentinelPassword=hunter2B",
                "redis-sentinel://:hunter2A@127.0.0.1:NOBODY,127.0.0.1:SENTINEL/locks"
                        + "?sentinelUser=u&sentinelPassword=hunter2B&timeout=300ms",
                "redis-sentinel://:hunter2A@127.0.0.1:SENTINEL/locks?sentinelPassword=hunter2R&timeout=300ms",
                "redis://:hunter2A@127.0.0.1:SERVER",
                "redis://user:hunter2A@127.0.0.1:SERVER",
                "redis://user:hunter2A@127.0.0.1:SERVER/x",
                "redis://user:hunter2A@127.0.0.1:SERVER?sentinelPassword=hunter2B",
                "redis://user:hunter2A@127.0.0.1:SERVER?sentinelPassword=a&hunter2B",
                "redis://user:hunter2A@127.0.0.1:SERVER?replicas=x",
                "redis://user:a/hunter2A@127.0.0.1:SERVER",
                "redis://user:a%hunter2A@127.0.0.1:SERVER",
                "redis-sentinel://127.0.0.1:SENTINEL?sentinelPassword=hunter2B",
                "rediss://user:hunter2A@127.0.0.1:SERVER?timeout=300ms",
            })
    void passwordsAreNotShown(String template) {
        String url = template.replace("NOBODY", Integer.toString(Ports.reserve()))
                .replace("SENTINEL", Integer.toString(sentinel.port()))
                .replace("SERVER", Integer.toString(server.port()));
        Throwable failure = catchThrowable(() -> open(url).close());
        assertThat(failure).isNotNull();
        StringWriter trace = new StringWriter();
        failure.printStackTrace(new PrintWriter(trace));
        assertHides(trace.toString());
    }

    @Test
    void storesAndThreadsDoNotShowThem() {
        LockStore store = closing(open("redis://:hunter2R@127.0.0.1:" + server.port()));
        granted(store, alice.mutex(name));
        waiting(store, bob.mutex(name));
        assertHides(store.toString());
        Thread.getAllStackTraces().keySet().forEach(thread -> assertHides(thread.getName()));
    }

    private static void assertHides(String text) {
        assertThat(text).doesNotContainIgnoringCase("hunter2");
    }
}
