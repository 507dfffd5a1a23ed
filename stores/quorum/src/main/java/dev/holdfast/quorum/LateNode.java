package dev.holdfast.quorum;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.NodeAttempt;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.spi.StoreTraits;
import dev.holdfast.spi.StoreTraits.NodeRole;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A node whose server was down when the quorum was opened. Each call opens its store, until that succeeds; so does the
 * quorum's probe of nodes that do not answer. Thread-safe.
 *
 * <p>Its calls block, also if those of the store will not. Its traits are those of another node; a store that promises less
 * is refused when it is opened, because the quorum has promised that already.
 */
final class LateNode implements LockStore {

    private final String title;
    private final Supplier<LockStore> opener;
    private final StoreTraits traits;
    /** Held while the store is opened. Other calls do not wait for it: they could all wait for a server that is frozen. */
    private final ReentrantLock opening = new ReentrantLock();

    private volatile @Nullable LockStore store;
    private volatile boolean closed;

    /**
     * @param title what it is, without a password
     * @param opener opens the store, or throws a StoreException
     * @param sibling the traits of a node that is open
     */
    LateNode(String title, Supplier<LockStore> opener, StoreTraits sibling) {
        this.title = title;
        this.opener = opener;
        this.traits = sibling.withNode(NodeRole.BLOCKING);
    }

    private LockStore opened() {
        LockStore known = store;
        if (known != null) {
            return known;
        }
        if (!opening.tryLock()) {
            throw StoreException.unavailable(Effect.NONE, title + " is being opened", null);
        }
        try {
            known = store;
            return known == null ? open() : known;
        } finally {
            opening.unlock();
        }
    }

    private LockStore open() {
        if (closed) {
            throw StoreException.unavailable(Effect.NONE, title + " is closed", null);
        }
        LockStore made = opener.get();
        if (!promisesEnough(made.traits())) {
            made.close();
            throw StoreException.refused(
                    title
                            + " cannot be a node of this quorum: it promises less than the nodes that were open before it,"
                            + " or cannot be a node at all. Open the quorum while this node runs, which says more",
                    null);
        }
        store = made;
        if (closed) { // close() may have been called before it could see this store
            made.close();
            throw StoreException.unavailable(Effect.NONE, title + " is closed", null);
        }
        return made;
    }

    private boolean promisesEnough(StoreTraits other) {
        return other.node() != NodeRole.NONE
                && other.tokens().compareTo(traits.tokens()) >= 0
                && other.kinds().compareTo(traits.kinds()) >= 0
                && other.leaseStep().compareTo(traits.leaseStep()) <= 0;
    }

    @Override
    public StoreTraits traits() {
        return traits;
    }

    @Override
    public CompletionStage<Attempt> tryAcquire(Claim claim) {
        return opened().tryAcquire(claim);
    }

    @Override
    public CompletionStage<NodeAttempt> tryAcquireAsNode(Claim claim, long counter, boolean raise) {
        return opened().tryAcquireAsNode(claim, counter, raise);
    }

    @Override
    public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
        return opened().renew(claims);
    }

    @Override
    public CompletionStage<Released> release(Claim claim) {
        return opened().release(claim);
    }

    @Override
    public ListenerRegistration watch(LockName name, Runnable mayBeFree) {
        LockStore known = store;
        return known == null ? ListenerRegistration.NONE : known.watch(name, mayBeFree);
    }

    @Override
    public CompletionStage<Optional<ResourceState>> inspect(LockName name) {
        return opened().inspect(name);
    }

    @Override
    public CompletionStage<List<LockName>> list(String prefix, int limit) {
        return opened().list(prefix, limit);
    }

    @Override
    public void close() {
        closed = true;
        LockStore known = store;
        if (known != null) {
            known.close();
        }
    }

    @Override
    public String toString() {
        return title;
    }
}
