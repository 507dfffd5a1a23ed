package dev.holdfast.spi;

/** Opens stores of one kind by URL. Found with {@link java.util.ServiceLoader}. */
public interface LockStoreProvider {

    /** What URLs of this provider look like, for people: {@code sqlite:PATH}. */
    String form();

    /** Whether this provider opens such a URL. Looks at the scheme only and must not block. */
    boolean accepts(String url);

    /**
     * Opens a store.
     *
     * @param url a URL that this provider accepts
     * @param clock the time
     * @throws IllegalArgumentException if the URL is wrong; the message names the part and what is allowed
     * @throws StoreException if the store cannot be reached or is not as it must be
     */
    LockStore open(String url, MonotonicClock clock);
}
