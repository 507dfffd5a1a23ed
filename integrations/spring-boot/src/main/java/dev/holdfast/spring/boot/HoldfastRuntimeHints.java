package dev.holdfast.spring.boot;

import dev.holdfast.spring.Locked;
import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.aot.hint.TypeReference;

/** What a native image must keep. Types whose properties an expression reads are the application's to name. */
final class HoldfastRuntimeHints implements RuntimeHintsRegistrar {

    @Override
    public void registerHints(RuntimeHints hints, @Nullable ClassLoader loader) {
        hints.proxies().registerJdkProxy(Locked.class);
        hints.reflection()
                .registerType(Locked.class, MemberCategory.INVOKE_DECLARED_METHODS)
                .registerType(
                        TypeReference.of("dev.holdfast.spring.locked.LockNames$Root"),
                        MemberCategory.INVOKE_DECLARED_METHODS);
        hints.resources().registerPattern("dev/holdfast/redis/script/*.lua");
    }
}
