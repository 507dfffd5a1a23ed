package dev.holdfast;

import java.util.concurrent.ConcurrentHashMap;

/**
 * Checks fencing tokens for a resource inside one process. It admits a token only if no larger one was admitted
 * before, so that a holder that was paused beyond the end of its lease cannot overwrite the work of a later holder.
 *
 * <pre>{@code
 * FenceGuard guard = new FenceGuard();
 * guard.check("order:42", lease.token());   // throws LockLostException if a later holder was here before
 * }</pre>
 *
 * <p>Use it for exclusive locks only: the tokens of shared grants have no order among each other. It keeps one
 * number in memory for each name for as long as the object lives. Thread-safe. The check and the work that follows
 * it are not one atomic step; a resource that can compare the token in its own write ({@code UPDATE .. WHERE fence
 * <= ?}) should do that instead.
 */
public final class FenceGuard {

    private final ConcurrentHashMap<String, Long> highest = new ConcurrentHashMap<>();

    /** A guard that has seen no token yet. */
    public FenceGuard() {}

    /**
     * Admits a token or refuses it.
     *
     * @return whether no larger token was admitted for the name before
     */
    public boolean admits(String name, long token) {
        return highest.merge(name, token, Math::max) == token;
    }

    /**
     * Admits a token.
     *
     * @throws LockLostException if a larger token was admitted for the name before
     */
    public void check(String name, long token) {
        if (!admits(name, token)) {
            throw new LockLostException(
                    "Token " + token + " of \"" + name + "\" is stale: token " + highest.get(name)
                            + " was used already. The lock was lost to a later holder; do not repeat the work without it",
                    LossReason.TAKEN);
        }
    }
}
