package dev.holdfast.internal.cohort;

import dev.holdfast.internal.Engine;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.Released.Handed;
import dev.holdfast.spi.Renewed;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** The names that are in use in this JVM, and the claims of this client that a release may grant. Thread-safe. */
public final class CohortLocks {

    private final Engine engine;
    private final String clientId;
    private final Map<LockName, CohortLock> locks = new ConcurrentHashMap<>();
    private final HeldNames heldNames = new HeldNames();
    /** Contenders whose claim is in the store, or may be, by the sequence of the claim. */
    private final Map<Long, RemoteContender> contenders = new ConcurrentHashMap<>();

    public CohortLocks(Engine engine, String clientId) {
        this.engine = engine;
        this.clientId = clientId;
    }

    /** The lock of a name, with its mutex held: the caller calls {@link CohortLock#leave}. */
    @SuppressWarnings("LockNotBeforeTry")
    public CohortLock enter(LockName name) {
        while (true) {
            CohortLock lock = locks.get(name);
            if (lock == null) {
                lock = locks.computeIfAbsent(name, missing -> new CohortLock(engine, missing));
            }
            lock.mutex().lock();
            if (!lock.isRetired()) {
                return lock;
            }
            lock.mutex().unlock();
        }
    }

    /** The lock of a name if it is in use here, without its mutex. */
    public @Nullable CohortLock peek(LockName name) {
        return locks.get(name);
    }

    void forget(CohortLock lock) {
        locks.remove(lock.name(), lock);
    }

    /** What the calling thread holds. */
    public HeldNames heldNames() {
        return heldNames;
    }

    // ---- what releases say ----

    void expect(RemoteContender contender) {
        contenders.put(contender.claim().id().sequence(), contender);
    }

    void forget(RemoteContender contender, Claim claim) {
        contenders.remove(claim.id().sequence(), contender);
    }

    /**
     * A release of this client's has granted a claim, perhaps one of its own.
     *
     * @param sentAt when the release was sent
     * @return the claim, if it is one of this client's that nobody waits for any more: it must be released
     */
    public @Nullable Claim granted(Handed handed, long sentAt) {
        if (!handed.id().client().equals(clientId)) {
            return null;
        }
        RemoteContender contender = contenders.get(handed.id().sequence());
        return contender == null ? null : contender.handed(handed.id(), handed.granted(), sentAt);
    }

    /**
     * A claim holds no more, perhaps one of this client's own: the store has seen it, or this client has broken the lock. The
     * holder need not wait for a renewal to learn of it.
     */
    public void lost(LockName name, ClaimId id, Renewed.Reason reason) {
        CohortLock lock = id.client().equals(clientId) ? peek(name) : null;
        if (lock != null) {
            lock.lost(id, reason);
        }
    }

    /** A claim as it was seen in the store, with its present owner if it is one of this client's own. */
    public Claim withPresentOwner(Claim seen) {
        CohortLock lock = seen.id().client().equals(clientId) ? peek(seen.name()) : null;
        return lock == null ? seen : lock.withPresentOwner(seen);
    }

    /** How many holds there are in this client. The names are looked at one after the other. */
    public int held() {
        return locks.values().stream().mapToInt(CohortLock::held).sum();
    }

    /** How many wait in this client, counted like {@link #held}. */
    public int waiting() {
        return locks.values().stream()
                .mapToInt(lock -> lock.locked(lock::waiting))
                .sum();
    }

    /** The engine closes: all waits and holds end. */
    public void close() {
        for (CohortLock lock : List.copyOf(locks.values())) {
            lock.change(lock::close);
        }
    }
}
