package dev.holdfast.quorum;

import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.LockStoreProvider;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.spi.StoreTraits;
import dev.holdfast.store.Providers;
import dev.holdfast.store.StoreUrl;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Opens {@code quorum:URL,URL,URL[#option=value&...]}: 3, 5 or another odd number of URLs of other stores, each on a server
 * of its own. A minority of them may be down; they are opened when they answer.
 *
 * <table>
 * <caption>Options</caption>
 * <tr><th>name</th><th>default</th><th>meaning</th></tr>
 * <tr><td>{@code maxLease}</td><td>1m</td><td>the longest lease, 5s to 24h; the same in all clients. A node that may have
 *     lost data is not counted for this time</td></tr>
 * <tr><td>{@code nodeTimeout}</td><td>500ms</td><td>how long a node is waited for, 10ms to 10s and at most a tenth of
 *     {@code maxLease}</td></tr>
 * <tr><td>{@code newNodes}</td><td>false</td><td>whether nodes count at once that have just begun to keep data; for the
 *     first start of new nodes only</td></tr>
 * </table>
 *
 * An option that is not in this table is refused.
 */
public final class QuorumLockStoreProvider implements LockStoreProvider {

    @Override
    public String form() {
        return QuorumUrl.FORM;
    }

    @Override
    public boolean accepts(String url) {
        return url.startsWith(QuorumUrl.SCHEME);
    }

    @Override
    public LockStore open(String url, MonotonicClock clock) {
        QuorumUrl parsed = QuorumUrl.parse(url);
        // A node that no store opens is refused before any node is opened.
        parsed.nodes().forEach(Providers::of);
        List<LockStore> stores = new ArrayList<>();
        try {
            open(parsed.nodes(), clock, stores);
            return QuorumLockStore.over(stores, parsed.options(), clock, QuorumLockStore.TIMER);
        } catch (RuntimeException failure) {
            stores.forEach(LockStore::close);
            throw failure;
        }
    }

    // Fills the list, so that the caller can close what is open if a later node is refused.
    private static void open(List<String> urls, MonotonicClock clock, List<LockStore> stores) {
        List<@Nullable LockStore> opened = new ArrayList<>();
        List<StoreException> failures = new ArrayList<>();
        for (int i = 0; i < urls.size(); i++) {
            try {
                LockStore store = Providers.open(urls.get(i), clock);
                stores.add(store);
                opened.add(store);
            } catch (StoreException failure) {
                if (!failure.retryable()) {
                    throw failure;
                }
                failures.add(failure);
                opened.add(null);
            }
        }
        if (stores.size() <= urls.size() / 2) {
            throw noMajority(urls.size(), failures);
        }
        StoreTraits sibling = stores.get(0).traits();
        stores.clear();
        for (int i = 0; i < urls.size(); i++) {
            String url = urls.get(i);
            stores.add(Objects.requireNonNullElseGet(
                    opened.get(i),
                    () -> new LateNode(StoreUrl.withoutPassword(url), () -> Providers.open(url, clock), sibling)));
        }
    }

    private static StoreException noMajority(int count, List<StoreException> failures) {
        return StoreException.unavailable(
                Effect.NONE,
                "No majority of the " + count + " nodes of the quorum can be opened: "
                        + failures.stream().map(StoreException::getMessage).toList(),
                failures.get(0));
    }
}
