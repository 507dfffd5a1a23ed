package dev.holdfast.engine.simulation;

import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.memory.StoredGrants;
import dev.holdfast.spi.LockName;
import java.util.HashSet;
import java.util.Set;

/** A name for which processes compete, and what was seen of its grants. */
final class SharedName {

    private static final int TOKENS_PER_GRANT = 1024;

    private final LockName name;
    /** The grants that an operator has ended. Until their holders know it, there may be two. */
    private final Set<Long> broken = new HashSet<>();

    private long largest = Long.MIN_VALUE;
    private long largestExclusive = Long.MIN_VALUE;

    /** What the leases that are valid at this moment have of it in all, and by which limit. */
    private long granted;

    private int limit;
    private Held someHolder;

    SharedName(String name) {
        this.name = new LockName(name);
    }

    LockName lockName() {
        return name;
    }

    void markBroken(long counter) {
        broken.add(counter);
    }

    /** Law 5: what its holder believes in the store keeps, whether anybody else wants it or not. */
    void requireKept(Held held, MemoryLockStore store) {
        long counter = held.token(this) / TOKENS_PER_GRANT;
        if (!broken.contains(counter) && !StoredGrants.keeps(store, name, counter, held.permits())) {
            throw new AssertionError(held + " is valid, but the store does not keep it");
        }
    }

    /** Whether an operator has ended this grant. */
    boolean isBroken(Held held) {
        return broken.contains(held.token(this) / TOKENS_PER_GRANT);
    }

    void beginLook() {
        granted = 0;
        someHolder = null;
    }

    /** A lease of the name is valid at this moment. */
    void see(Held held) {
        if (!broken.isEmpty() && isBroken(held)) {
            return;
        }
        if (someHolder != null && limit != held.limit()) {
            throw new AssertionError("\"" + name + "\" is held as two kinds: " + someHolder + ", " + held);
        }
        granted += held.permits();
        limit = held.limit();
        if (granted > limit) {
            throw new AssertionError("More than the limit of \"" + name + "\" is held: " + someHolder + ", " + held);
        }
        someHolder = held;
    }

    /** A lease of the name is seen to be valid for the first time. So it was since its grant, and all others were not, if it is exclusive. */
    void seeFirst(Held held) {
        if (isBroken(held)) {
            return;
        }
        long token = held.token(this);
        long before = held.isExclusive() ? largest : largestExclusive;
        if (token <= before) {
            throw new AssertionError("The token of " + held + " is " + token + ", after " + before);
        }
        largest = Math.max(largest, token);
        largestExclusive = held.isExclusive() ? token : largestExclusive;
    }

    @Override
    public String toString() {
        return name.value();
    }
}
