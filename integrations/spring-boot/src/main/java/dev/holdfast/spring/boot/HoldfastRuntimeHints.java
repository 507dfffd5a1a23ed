package dev.holdfast.spring.boot;

import dev.holdfast.spi.LockStoreProvider;
import dev.holdfast.spring.Locked;
import java.util.List;
import java.util.ServiceLoader;
import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.ExecutableMode;
import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.ReflectionHints;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.aot.hint.TypeReference;

/**
 * What a native image must keep. Methods with {@link Locked} are found by Spring, since the annotation asks for it. Types whose
 * properties an expression reads are the application's to name.
 */
final class HoldfastRuntimeHints implements RuntimeHintsRegistrar {

    private static final String JEDIS_SETTINGS = "redis.clients.jedis.DefaultJedisClientConfig$Builder";

    @Override
    public void registerHints(RuntimeHints hints, @Nullable ClassLoader loader) {
        hints.proxies().registerJdkProxy(Locked.class);
        hints.reflection()
                .registerType(Locked.class, MemberCategory.INVOKE_DECLARED_METHODS)
                .registerType(
                        TypeReference.of("dev.holdfast.spring.locked.LockNames$Root"),
                        root -> root.withMethod("method", List.of(), ExecutableMode.INVOKE)
                                .withMethod("target", List.of(), ExecutableMode.INVOKE));
        stores(hints, loader);
        clients(hints.reflection(), loader);
    }

    // Stores are found by their services, and those in Redis have scripts.
    private static void stores(RuntimeHints hints, @Nullable ClassLoader loader) {
        hints.resources()
                .registerPattern("META-INF/services/" + LockStoreProvider.class.getName())
                .registerPattern("dev/holdfast/redis/script/*.lua");
        ServiceLoader.load(LockStoreProvider.class, loader).stream()
                .map(ServiceLoader.Provider::type)
                .forEach(provider ->
                        hints.reflection().registerType(provider, MemberCategory.INVOKE_PUBLIC_CONSTRUCTORS));
    }

    // Which calls a client of Redis has is asked when the application runs, and so is the kind of a thread.
    private static void clients(ReflectionHints reflection, @Nullable ClassLoader loader) {
        for (String witness : List.of(
                "redis.clients.jedis.RedisClient",
                "io.lettuce.core.StreamDeletionPolicy",
                "io.lettuce.core.MaintNotificationsConfig")) {
            reflection.registerTypeIfPresent(loader, witness);
        }
        reflection.registerTypeIfPresent(
                loader,
                JEDIS_SETTINGS,
                type -> type.withMethod(
                        "autoNegotiateProtocol", List.of(TypeReference.of(boolean.class)), ExecutableMode.INVOKE));
        reflection.registerTypeIfPresent(
                loader,
                "redis.clients.jedis.RedisSentinelClient",
                type -> type.withMethod("getPrimaryNodesConnectionMap", List.of(), ExecutableMode.INVOKE));
        reflection.registerTypeIfPresent(
                loader,
                "redis.clients.jedis.RedisClusterClient",
                type -> type.withMethod("refreshClusterTopology", List.of(), ExecutableMode.INVOKE));
        reflection.registerTypeIfPresent(
                loader, "redis.clients.jedis.UnifiedJedis", type -> type.withField("provider"));
        reflection.registerType(Thread.class, type -> type.withMethod("isVirtual", List.of(), ExecutableMode.INVOKE));
    }
}
