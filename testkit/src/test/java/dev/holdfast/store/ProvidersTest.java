package dev.holdfast.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.memory.MemoryLockStoreProvider;
import org.junit.jupiter.api.Test;

/** How the provider of a URL is found. */
class ProvidersTest {

    @Test
    void storeInMemoryIsFoundByItsUrl() {
        assertThat(Providers.of("memory:")).isInstanceOf(MemoryLockStoreProvider.class);
    }

    @Test
    void unknownUrlIsRefusedWithTheFormsThereAreAndWithoutItsPassword() {
        assertThatThrownBy(() -> Providers.of("unknown://user:SECRET@host"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("unknown://")
                .hasMessageContaining("check its beginning, or add the module of its store. There are")
                .hasMessageContaining(new MemoryLockStoreProvider().form())
                .message()
                .doesNotContain("SECRET");
    }
}
