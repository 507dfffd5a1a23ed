package dev.holdfast.redis;

/** The same on Redis 6.2, whose rules for writes inside a script, and words, are others. */
class OldRefusedWritesTest extends RefusedWritesTest {

    @Override
    RedisServer started(String... settings) {
        return RedisServer.startOld();
    }
}
