package dev.holdfast.redis;

/**
 * The same faults on a Redis 6.2, which reports some errors differently: as errors of the script, not of the
 * command.
 */
class OldRedisFaultTest extends FaultTest {

    @Override
    RedisServer started(String... settings) {
        return RedisServer.startOld(settings);
    }
}
