package dev.holdfast.internal;

import dev.holdfast.Lease;
import dev.holdfast.LeaseState;
import dev.holdfast.LockLostException;
import dev.holdfast.LossReason;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/** Several holds as one handle: held while all are held, lost as soon as one is lost. */
final class MultiLease implements Lease {

    private final Engine engine;
    private final List<HoldLease> members;

    MultiLease(Engine engine, List<Hold> holds) {
        this.engine = engine;
        this.members = holds.stream().map(hold -> new HoldLease(engine, hold)).toList();
    }

    @Override
    public List<String> names() {
        return members.stream().flatMap(member -> member.names().stream()).toList();
    }

    @Override
    public long token() {
        if (members.size() > 1) {
            throw new IllegalStateException("This lease of " + names() + " has a token for each name: use token(name)");
        }
        return members.get(0).token();
    }

    @Override
    public long token(String name) {
        for (HoldLease member : members) {
            if (member.names().contains(name)) {
                return member.token();
            }
        }
        throw new IllegalArgumentException("This is the lease of " + names() + ", not of \"" + name + "\"");
    }

    @Override
    public LeaseState state() {
        LeaseState worst = LeaseState.SAFE;
        for (HoldLease member : members) {
            LeaseState state = member.state();
            if (state == LeaseState.LOST) {
                return state;
            }
            worst = state.compareTo(worst) > 0 ? state : worst;
        }
        return worst;
    }

    @Override
    public Duration remaining() {
        return members.stream()
                .map(Lease::remaining)
                .min(Comparator.naturalOrder())
                .orElseThrow();
    }

    @Override
    public void onLost(Consumer<LossReason> listener) {
        listenOnce(engine, members.stream().map(HoldLease::hold).toList(), listener);
    }

    /** Calls the listener for the first of the holds that is lost. */
    static void listenOnce(Engine engine, List<Hold> holds, Consumer<LossReason> listener) {
        AtomicBoolean told = new AtomicBoolean();
        for (Hold hold : holds) {
            engine.listen(hold, reason -> {
                if (told.compareAndSet(false, true)) {
                    listener.accept(reason);
                }
            });
        }
    }

    @Override
    public void extend(Duration lease) {
        members.forEach(member -> member.extend(lease));
    }

    @Override
    public void release() {
        LockLostException lost = null;
        for (int i = members.size() - 1; i >= 0; i--) {
            try {
                members.get(i).release();
            } catch (LockLostException ofOne) {
                lost = ofOne;
            }
        }
        if (lost != null) {
            throw lost;
        }
    }

    @Override
    public CompletableFuture<Void> releaseAsync() {
        CompletableFuture<Void> done = new CompletableFuture<>();
        Runnable release = () -> {
            try {
                release();
                engine.callBack(() -> done.complete(null));
            } catch (RuntimeException lost) {
                engine.callBack(() -> done.completeExceptionally(lost));
            }
        };
        if (!engine.dispatch(release)) {
            // Closed: all is lost already, and nothing is sent.
            release.run();
        }
        return done;
    }

    @Override
    public String toString() {
        return "Lease" + members;
    }
}
