package dev.holdfast.store;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.LockStoreProvider;
import dev.holdfast.spi.MonotonicClock;
import java.util.ArrayList;
import java.util.List;
import java.util.ServiceLoader;

/** The providers of stores that are on the class path. Stateless. */
public final class Providers {

    private Providers() {}

    /**
     * Opens a store. What is thrown shows no password, also where a driver's own message would.
     *
     * @throws IllegalArgumentException if the URL is wrong, or there is no provider that opens it
     * @throws IllegalStateException as of {@link LockStoreProvider#open}
     * @throws dev.holdfast.spi.StoreException as of {@link LockStoreProvider#open}
     */
    public static LockStore open(String url, MonotonicClock clock) {
        LockStoreProvider provider = of(url);
        try {
            return provider.open(url, clock);
        } catch (RuntimeException failure) {
            throw StoreUrl.hiding(url, failure);
        }
    }

    /**
     * The provider that opens a URL.
     *
     * @throws IllegalArgumentException if there is none; the message names the forms of the URLs that are opened, and shows no
     *     password
     */
    public static LockStoreProvider of(String url) {
        List<String> forms = new ArrayList<>();
        for (LockStoreProvider provider : ServiceLoader.load(LockStoreProvider.class)) {
            if (provider.accepts(url)) {
                return provider;
            }
            forms.add(provider.form());
        }
        throw new IllegalArgumentException("No store on the class path opens the URL \"" + StoreUrl.withoutPassword(url)
                + "\": check its beginning, or add the module of its store. There are " + String.join(", ", forms));
    }
}
