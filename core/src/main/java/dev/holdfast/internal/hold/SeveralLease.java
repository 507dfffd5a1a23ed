package dev.holdfast.internal.hold;

import dev.holdfast.Lease;
import dev.holdfast.LeaseState;
import dev.holdfast.LockLostException;
import dev.holdfast.LossReason;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/** Several holds as one lease: held while all are held, lost as soon as one is lost. */
public final class SeveralLease implements Lease {

    private final List<Hold> members;

    public SeveralLease(List<Hold> members) {
        this.members = List.copyOf(members);
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
        for (Hold member : members) {
            if (member.names().contains(name)) {
                return member.token();
            }
        }
        throw new IllegalArgumentException("This is the lease of " + names() + ", not of \"" + name + "\"");
    }

    @Override
    public LeaseState state() {
        LeaseState worst = LeaseState.SAFE;
        for (Hold member : members) {
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
        onFirstLost(members, Objects.requireNonNull(listener, "listener"));
    }

    /** Calls the listener for the first of the holds that is lost. */
    public static void onFirstLost(List<Hold> holds, Consumer<LossReason> listener) {
        AtomicBoolean called = new AtomicBoolean();
        for (Hold hold : holds) {
            hold.onLost(reason -> {
                if (called.compareAndSet(false, true)) {
                    listener.accept(reason);
                }
            });
        }
    }

    @Override
    public void onInDoubt(Consumer<Duration> listener) {
        Hold.onFirstInDoubt(members, Objects.requireNonNull(listener, "listener"), this::remaining);
    }

    @Override
    public void extend(Duration lease) {
        HoldExtension.extend(members, lease);
    }

    @Override
    public void release() {
        HoldEnd.awaitAll(end());
    }

    @Override
    public CompletableFuture<Void> releaseAsync() {
        List<HoldEnd> ends = end();
        return ends.isEmpty() ? CompletableFuture.completedFuture(null) : HoldEnd.allAsync(ends);
    }

    @Override
    public void letExpire() {
        LockLostException lost = null;
        for (Hold member : members) {
            try {
                member.letExpire();
            } catch (LockLostException ofOne) {
                lost = lost == null ? ofOne : lost;
            }
        }
        if (lost != null) {
            throw lost;
        }
    }

    private List<HoldEnd> end() {
        List<HoldEnd> ends = new ArrayList<>(members.size());
        for (Hold member : members) {
            HoldEnd end = member.grant().home().locked(member::end);
            if (end != null) {
                ends.add(end);
            }
        }
        return ends;
    }

    @Override
    public String toString() {
        return "Lease" + members;
    }
}
