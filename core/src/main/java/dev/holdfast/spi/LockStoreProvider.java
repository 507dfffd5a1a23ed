package dev.holdfast.spi;

/** Opens stores of one kind by URL. Providers are found with {@link java.util.ServiceLoader}. */
public interface LockStoreProvider {

    /** The form of this provider's URLs, for messages: for example {@code sqlite:PATH}. */
    String form();

    /** Whether this provider opens such a URL. It looks at the scheme only, and must not block. */
    boolean accepts(String url);

    /**
     * Opens a store.
     *
     * @param url a URL that this provider accepts
     * @param clock the clock that the store uses
     * @throws IllegalArgumentException if the URL is wrong; the message names the part and what is allowed
     * @throws IllegalStateException if a library that the store uses is missing or too old; the message names the version
     * @throws StoreException if the store cannot be reached or is not set up as required
     */
    LockStore open(String url, MonotonicClock clock);
}
