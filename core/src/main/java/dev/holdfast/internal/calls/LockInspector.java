package dev.holdfast.internal.calls;

import dev.holdfast.LockException;
import dev.holdfast.StoreUnavailableException;
import dev.holdfast.internal.time.Uptime;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.LossListener;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.store.Bounds;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

/** Shows who holds and waits, and breaks what was seen. */
public final class LockInspector {

    private final LockStore store;
    private final Uptime time;
    private final StoreCalls calls;
    private final String clientId;
    private final ReleaseRetrier releases;
    private final LossListener losses;
    private final UnaryOperator<Claim> presentOwner;
    private final BooleanSupplier closed;

    /**
     * @param releases is notified of what a break has granted
     * @param losses is notified of each claim that was broken, which may be one of this client's own
     * @param presentOwner knows who holds a claim of this client's own now
     * @param closed whether the client is closed
     */
    public LockInspector(
            LockStore store,
            Uptime time,
            StoreCalls calls,
            String clientId,
            ReleaseRetrier releases,
            LossListener losses,
            UnaryOperator<Claim> presentOwner,
            BooleanSupplier closed) {
        this.store = store;
        this.time = time;
        this.calls = calls;
        this.clientId = clientId;
        this.releases = releases;
        this.losses = losses;
        this.presentOwner = presentOwner;
        this.closed = closed;
    }

    /** Who holds and waits; empty if nobody does. Waits {@code timeout} nanoseconds for the store. */
    public Optional<ResourceState> state(LockName name, long timeout) {
        return ask("inspect \"" + name + "\"", () -> store.inspect(name), timeout)
                .filter(ResourceState::isInUse)
                .map(this::asHeldNow);
    }

    // The store learns of a hand-off inside the JVM with the next renewal.
    private ResourceState asHeldNow(ResourceState seen) {
        List<ResourceState.Entry> holders = seen.holders().stream()
                .map(entry -> new ResourceState.Entry(
                        presentOwner.apply(entry.claim()), entry.counter(), entry.age(), entry.remaining()))
                .toList();
        return new ResourceState(seen.name(), seen.limit(), seen.counter(), holders, seen.waiters());
    }

    /** The names in use. Waits {@code timeout} nanoseconds for the store. */
    public List<String> list(String prefix, int limit, long timeout) {
        Bounds.list(limit);
        return ask("list names", () -> store.list(prefix, limit), timeout).stream()
                .map(LockName::value)
                .toList();
    }

    /** Releases all claims that hold the name now. Returns how many still held. */
    public int breakHolders(LockName name, long timeout) {
        int count = 0;
        for (ResourceState.Entry holder :
                state(name, timeout).map(ResourceState::holders).orElse(List.of())) {
            count += breakClaim(holder, timeout) ? 1 : 0;
        }
        return count;
    }

    /**
     * Releases exactly the claim that was seen. It is marked as repeated, so that the store remembers for one lease that it
     * was released: its owner is then notified of BROKEN and not just of EXPIRED.
     *
     * @return whether it held or waited until now
     */
    public boolean breakClaim(ResourceState.Entry seen, long timeout) {
        long sentAt = time.now();
        Claim claim = seen.claim();
        Released released = ask("break \"" + claim.name() + "\"", () -> store.release(claim.again()), timeout);
        losses.lost(claim.name(), claim.id(), Renewed.Reason.RELEASED);
        releases.passOn(released, sentAt);
        return released.wasOwner();
    }

    private <T> T ask(String what, Supplier<CompletionStage<T>> call, long timeout) {
        requireOpen(what);
        try {
            return calls.join(call, timeout);
        } catch (StoreException failure) {
            requireOpen(what); // Not the store's fault, if the close came meanwhile.
            throw new StoreUnavailableException(
                    "Client " + clientId + " could not " + what + ": the "
                            + store.traits().product() + " store failed: " + failure.getMessage(),
                    failure);
        }
    }

    private void requireOpen(String what) {
        if (closed.getAsBoolean()) {
            throw new LockException("Holdfast client " + clientId + " is closed and cannot " + what
                    + ": connect another one, or close it after its last use only");
        }
    }
}
