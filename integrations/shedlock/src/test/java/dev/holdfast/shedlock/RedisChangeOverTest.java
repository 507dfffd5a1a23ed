package dev.holdfast.shedlock;

import dev.holdfast.Holdfast;
import dev.holdfast.redis.RedisServer;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.junit.jupiter.api.AfterAll;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;

/** Beside nodes that have their locks in ShedLock's keys. */
class RedisChangeOverTest extends ChangeOverKit {

    private static final RedisServer SERVER = RedisServer.start();
    private static final JedisConnectionFactory CONNECTIONS =
            new JedisConnectionFactory(new RedisStandaloneConfiguration("127.0.0.1", SERVER.port()));

    static {
        CONNECTIONS.afterPropertiesSet();
        CONNECTIONS.start();
    }

    @AfterAll
    static void stop() {
        CONNECTIONS.destroy();
        SERVER.close();
    }

    @Override
    ExtensibleLockProvider old() {
        return new RedisLockProvider.Builder(CONNECTIONS)
                .environment("production")
                .build();
    }

    @Override
    Holdfast connect() {
        return Holdfast.connect(SERVER.url());
    }
}
