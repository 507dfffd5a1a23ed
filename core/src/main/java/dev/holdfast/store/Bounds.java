package dev.holdfast.store;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockStore;
import java.util.Collection;
import java.util.List;

/** Checks the bounds of a store's calls (law 10) before anything is sent, with the same messages for all stores. */
public final class Bounds {

    private Bounds() {}

    /**
     * Checks the claims of a {@link LockStore#tryAcquireAll}.
     *
     * @return a copy of them
     * @throws IllegalArgumentException if there are none or too many, or if two name the same resource
     */
    public static List<Claim> several(List<Claim> claims) {
        if (claims.isEmpty() || claims.size() > LockStore.MAX_SEVERAL) {
            throw new IllegalArgumentException(
                    "1 to " + LockStore.MAX_SEVERAL + " claims can be made at once, not " + claims.size());
        }
        if (claims.stream().map(Claim::name).distinct().count() < claims.size()) {
            throw new IllegalArgumentException("Claims made at once must name different resources");
        }
        return List.copyOf(claims);
    }

    /**
     * Checks the claims of a {@link LockStore#renew}.
     *
     * @return a copy of them
     * @throws IllegalArgumentException if there are too many
     */
    public static List<Claim> batch(Collection<Claim> claims) {
        if (claims.size() > LockStore.MAX_BATCH) {
            throw new IllegalArgumentException(
                    "At most " + LockStore.MAX_BATCH + " claims can be renewed at once, not " + claims.size());
        }
        return List.copyOf(claims);
    }

    /**
     * Checks the limit of a {@link LockStore#list}.
     *
     * @throws IllegalArgumentException if it is out of its range
     */
    public static void list(int limit) {
        if (limit < 1 || limit > LockStore.MAX_LIST) {
            throw new IllegalArgumentException("1 to " + LockStore.MAX_LIST + " names can be listed, not " + limit);
        }
    }
}
