package dev.holdfast;

import java.util.concurrent.ConcurrentHashMap;

/**
 * The checking half of fencing for a resource inside one process: it admits a token only if no larger one was admitted
 * before, so that a holder that was paused beyond its lease cannot write over its successor's work.
 *
 * <pre>{@code
 * FenceGuard guard = new FenceGuard();
 * guard.check("order:42", lease.token());   // throws LockLostException if a later holder was here before
 * }</pre>
 *
 * <p>Only for exclusive locks: shared grants have no order among each other. It remembers one number for each name for as
 * long as it lives. Thread-safe. The check and what follows it are not one step; a resource that can compare in its own
 * write ({@code UPDATE .. WHERE fence <= ?}) should.
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
