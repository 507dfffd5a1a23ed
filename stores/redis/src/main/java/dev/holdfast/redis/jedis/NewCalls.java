package dev.holdfast.redis.jedis;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import java.util.Map;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.RedisClusterClient;
import redis.clients.jedis.RedisSentinelClient;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.providers.ClusterConnectionProvider;
import redis.clients.jedis.providers.ConnectionProvider;
import redis.clients.jedis.providers.SentineledConnectionProvider;
import redis.clients.jedis.util.Pool;

/**
 * The calls that came with Jedis 8, and what is done with Jedis 7.2 and newer ones that do not have them. No other class
 * makes such a call. The virtual machine looks for a method when it is first called, so one that is missing does no harm
 * as long as the answer of {@link #has} is respected.
 */
final class NewCalls {

    private static final boolean NEGOTIATES = has(
            DefaultJedisClientConfig.Builder.class,
            "autoNegotiateProtocol",
            MethodType.methodType(DefaultJedisClientConfig.Builder.class, boolean.class));

    private NewCalls() {}

    // Reflection on the class would need every type that its hundreds of methods name, also of libraries that the
    // application has left out.
    private static boolean has(Class<?> type, String method, MethodType signature) {
        try {
            return MethodHandles.publicLookup().findVirtual(type, method, signature) != null;
        } catch (NoSuchMethodException | IllegalAccessException older) {
            return false;
        }
    }

    /** Leaves the protocol at RESP2, without HELLO, which Redis 5 and some proxies do not know. Jedis 7 does so by itself. */
    static void stayWithRespTwo(DefaultJedisClientConfig.Builder builder) {
        if (NEGOTIATES) {
            builder.serverDefaultProtocol().autoNegotiateProtocol(false);
        }
    }

    /** The pool of the client's current primary, by its address. */
    static Map<?, Pool<Connection>> primaryPools(RedisSentinelClient client) {
        return Clients.SHOW_POOLS
                ? client.getPrimaryNodesConnectionMap()
                : ((SentineledConnectionProvider) Hidden.provider(client)).getPrimaryNodesConnectionMap();
    }

    /** Makes the client ask the nodes of its cluster for the others. */
    static void refreshTopology(RedisClusterClient client) {
        if (Clients.REFRESH) {
            client.refreshClusterTopology();
        } else {
            ((ClusterConnectionProvider) Hidden.provider(client)).renewSlotCache();
        }
    }

    /** Apart, because a store that was opened by its URL needs none of these large classes. */
    private static final class Clients {
        private static final boolean SHOW_POOLS =
                has(RedisSentinelClient.class, "getPrimaryNodesConnectionMap", MethodType.methodType(Map.class));
        private static final boolean REFRESH =
                has(RedisClusterClient.class, "refreshClusterTopology", MethodType.methodType(void.class));
    }

    /** Where the clients of Jedis 7 have their pools: in a protected field. Nothing public leads there. */
    private static final class Hidden {

        private static final VarHandle PROVIDER = find();

        private static VarHandle find() {
            try {
                return MethodHandles.privateLookupIn(UnifiedJedis.class, MethodHandles.lookup())
                        .findVarHandle(UnifiedJedis.class, "provider", ConnectionProvider.class);
            } catch (ReflectiveOperationException changed) {
                throw new IllegalStateException(
                        "This version of Jedis does not show the pools of its clients", changed);
            }
        }

        private static Object provider(UnifiedJedis client) {
            return PROVIDER.get(client);
        }
    }
}
