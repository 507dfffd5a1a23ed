package dev.holdfast.shedlock;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Holdfast;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.test.support.AbstractExtensibleLockProviderIntegrationTest;
import net.javacrumbs.shedlock.test.support.FuzzTester;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** ShedLock's own tests of providers, on one store. What is locked is looked at from another client. */
abstract class ShedLockKit extends AbstractExtensibleLockProviderIntegrationTest {

    private static final int FUZZ_ROUNDS = 20;

    private final Holdfast locks;
    private final Holdfast others;
    private final HoldfastLockProvider provider;

    ShedLockKit(String url) {
        locks = Holdfast.connect(url);
        others = Holdfast.connect(url);
        provider = new HoldfastLockProvider(locks);
    }

    @AfterEach
    final void close() {
        locks.close();
        others.close();
    }

    @Override
    protected final ExtensibleLockProvider getLockProvider() {
        return provider;
    }

    @Override
    protected final void assertLocked(String name) {
        assertThat(isLocked(name)).isTrue();
    }

    @Override
    protected final void assertUnlocked(String name) {
        assertThat(isLocked(name)).isFalse();
    }

    private boolean isLocked(String name) {
        return others.lock(name).isLocked()
                || others.lock(name + HoldfastLockProvider.AT_LEAST).isLocked();
    }

    /** With fewer rounds; the kit's own hundred of each of eight threads take nine seconds. */
    @Test
    @Override
    public final void fuzzTestShouldPass() throws ExecutionException, InterruptedException {
        new FuzzTester(provider, Duration.ofMillis(1), Duration.ofMinutes(5), FUZZ_ROUNDS).doFuzzTest();
    }

    /** With our shortest time; the kit's own is 50 ms. */
    @Test
    @Override
    public final void shouldTimeout() throws InterruptedException {
        doTestTimeout(Duration.ofMillis(100));
    }
}
