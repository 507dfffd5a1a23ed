package dev.holdfast.redis;

/** The same faults on a Redis 6.2, which words some of its errors in another way: as the script's, not as the command's. */
class OldRedisFaultTest extends FaultTest {

    @Override
    RedisServer started(String... settings) {
        return RedisServer.startOld(settings);
    }
}
