package dev.holdfast.benchmarks.subject;

import dev.holdfast.workload.Section;
import dev.holdfast.workload.Subject;
import io.lettuce.core.RedisClient;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SetArgs;
import io.lettuce.core.api.sync.RedisCommands;
import java.util.UUID;

/** {@code SET NX PX} and compare-and-delete by Lettuce, with one connection that all threads share; it does not wait. */
public final class LettuceFloor implements Subject {

    private final RedisClient client;
    private final RedisCommands<String, String> redis;
    private final String sha;

    public LettuceFloor(String url) {
        client = RedisClient.create(url);
        redis = client.connect().sync();
        sha = redis.scriptLoad(JedisFloor.COMPARE_AND_DELETE);
    }

    @Override
    public Section mutex(String name) {
        String[] key = {name};
        String value = UUID.randomUUID().toString();
        return new Section() {
            @Override
            public void enter() {
                if (redis.set(name, value, SetArgs.Builder.nx().px(30_000)) == null) {
                    throw new IllegalStateException(name + " is not free");
                }
            }

            @Override
            public void leave() {
                Long deleted = redis.evalsha(sha, ScriptOutputType.INTEGER, key, value);
                if (deleted != 1) {
                    throw new IllegalStateException(name + " was lost");
                }
            }
        };
    }

    @Override
    public void close() {
        client.shutdown();
    }
}
