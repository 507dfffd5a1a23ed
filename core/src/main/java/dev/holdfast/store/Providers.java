package dev.holdfast.store;

import dev.holdfast.spi.LockStoreProvider;
import java.util.ArrayList;
import java.util.List;
import java.util.ServiceLoader;

/** The providers of stores that are on the class path. Stateless. */
public final class Providers {

    private Providers() {}

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
        throw new IllegalArgumentException(
                "No store on the class path opens the URL " + StoreUrl.withoutPassword(url) + "; there are " + forms);
    }
}
