package dev.holdfast.buildrules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.module.Configuration;
import java.lang.module.ModuleDescriptor.Exports;
import java.lang.module.ModuleFinder;
import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.Test;

/** The core as a module on the module path: it shows its public packages only, and finds its store by itself. */
class CoreModuleTest {

    private static final String NAME = "dev.holdfast.core";

    private final Module core = load();

    private static Module load() {
        ModuleFinder finder = ModuleFinder.of(Path.of("../core/target/classes"));
        ModuleLayer boot = ModuleLayer.boot();
        Configuration configuration = boot.configuration().resolveAndBind(finder, ModuleFinder.of(), Set.of(NAME));
        return boot.defineModulesWithOneLoader(configuration, ClassLoader.getPlatformClassLoader())
                .findModule(NAME)
                .orElseThrow();
    }

    @Test
    void onlyThePublicPackagesAreExported() {
        assertThat(core.getDescriptor().exports())
                .allMatch(exported -> !exported.isQualified())
                .extracting(Exports::source)
                .containsExactlyInAnyOrder(
                        "dev.holdfast",
                        "dev.holdfast.election",
                        "dev.holdfast.memory",
                        "dev.holdfast.spi",
                        "dev.holdfast.store",
                        "dev.holdfast.store.sequenced");
        assertThat(core.getDescriptor().packages()).contains("dev.holdfast.internal");
    }

    @Test
    void theEngineCannotBeUsed() throws Exception {
        Class<?> engine = Class.forName(core, "dev.holdfast.internal.Engine");
        assertThatThrownBy(() -> engine.getConstructors()[0].newInstance((Object[]) null))
                .isInstanceOf(IllegalAccessException.class);
    }

    @Test
    void aLockIsTakenThroughTheModule() throws Exception {
        ClassLoader ofTheTest = Thread.currentThread().getContextClassLoader();
        Thread.currentThread().setContextClassLoader(core.getClassLoader());
        Class<?> holdfast = Class.forName(core, "dev.holdfast.Holdfast");
        Method isHeld = Class.forName(core, "dev.holdfast.DistributedLock").getMethod("isHeldByCurrentThread");
        try (AutoCloseable locks =
                (AutoCloseable) holdfast.getMethod("connect", String.class).invoke(null, "memory:")) {
            Lock lock = (Lock) holdfast.getMethod("lock", String.class).invoke(locks, "a");
            lock.lock();
            assertThat(isHeld.invoke(lock)).isEqualTo(true);
            lock.unlock();
        } finally {
            Thread.currentThread().setContextClassLoader(ofTheTest);
        }
    }
}
