package dev.holdfast.internal.hold;

import dev.holdfast.Lease;
import dev.holdfast.LeaseState;
import dev.holdfast.LockLostException;
import dev.holdfast.LossReason;
import dev.holdfast.internal.Callbacks;
import dev.holdfast.internal.Engine;
import dev.holdfast.internal.time.Alarm;
import dev.holdfast.internal.time.Nanos;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One acquisition by a user: a share of a grant, with a token, listeners and an end of its own. For a user who acquired a
 * lease it is that lease; a thread that has locked has it behind its lock.
 *
 * <p>It is held, then lost, then released; or released at once. A lost hold is known to its owner until he releases it.
 * Changes are made under the mutex of the grant's home; {@link #state} may be read by anyone.
 */
public final class Hold implements Lease {

    private final Grant grant;
    private final LockSpec spec;
    private final long token;
    private final long since;
    /** The thread that acquired it; null if it was acquired without one. */
    private final @Nullable Thread thread;
    /** Whether it is the thread's own, through {@code lock()}. */
    private final boolean forThread;

    /** Whether observers know of it: not of a member of a multi-lock until the user has all of them. */
    private volatile boolean observed;

    private volatile long holdEnds;
    private volatile @Nullable LossReason lost;
    private volatile boolean released;
    /** Guarded by the mutex. */
    private List<Consumer<LossReason>> lossListeners;
    /** Guarded by the mutex. */
    private List<Consumer<Duration>> doubtListeners = List.of();
    /** Looks whether the thread of a lost hold lives still; null if it was not lost. Guarded by the mutex. */
    private @Nullable Alarm threadWatch;
    /** Whether a loss has interrupted the thread; one for all members of a multi-lock. Null if none does. Guarded by the mutex. */
    private @Nullable AtomicBoolean interrupted;
    /** What of the engine is to know of the loss before the users' listeners. Guarded by the mutex. */
    private @Nullable Consumer<LossReason> whenLost;

    Hold(Grant grant, LockSpec spec, long token, long now, @Nullable Thread thread, boolean forThread) {
        this.grant = grant;
        this.spec = spec;
        this.token = token;
        this.since = now;
        this.thread = thread;
        this.forThread = forThread;
        this.observed = !spec.member();
        this.holdEnds = Nanos.after(now, spec.maxHold());
        this.interrupted = spec.interruptOnLoss() ? new AtomicBoolean() : null;
        this.lossListeners = spec.onLost() == null ? List.of() : List.of(spec.onLost());
    }

    public Grant grant() {
        return grant;
    }

    public LockSpec spec() {
        return spec;
    }

    @Nullable
    Thread thread() {
        return thread;
    }

    long since() {
        return since;
    }

    Engine engine() {
        return grant.home().engine();
    }

    // ---- what can be known without asking the store ----

    @Override
    public List<String> names() {
        return List.of(spec.name().value());
    }

    @Override
    public long token() {
        return token;
    }

    @Override
    public long token(String name) {
        if (!name.equals(spec.name().value())) {
            throw new IllegalArgumentException("This is the lease of " + names() + ", not of \"" + name + "\"");
        }
        return token;
    }

    @Override
    public LeaseState state() {
        long now = engine().now();
        // Before the loss: a lease that is lost and then released must not be seen as one that was released only.
        boolean isReleased = released;
        if (lost != null) {
            return LeaseState.LOST;
        }
        if (isReleased) {
            return LeaseState.RELEASED;
        }
        if (now >= deadline()) {
            return LeaseState.LOST;
        }
        return grant.isInDoubt(now) ? LeaseState.IN_DOUBT : LeaseState.SAFE;
    }

    /** Whether it is neither lost nor released, by the local clock. */
    public boolean isHeld() {
        return isOpen() && engine().now() < deadline();
    }

    @Override
    public Duration remaining() {
        long now = engine().now();
        return isOpen() && now < deadline() ? Duration.ofNanos(deadline() - now) : Duration.ZERO;
    }

    /** From when on it must be taken for lost. */
    private long deadline() {
        return Math.min(grant.validity().deadline(), holdEnds);
    }

    /** When {@code maxHold} is over. */
    long holdEnds() {
        return holdEnds;
    }

    /**
     * Under the mutex: begins as a member of a multi-lock that has all its members now, with the options of the user. False if
     * it was lost before.
     *
     * @param user what the user asked for with this name
     */
    public boolean restart(LockSpec user) {
        if (!isHeld()) {
            return false;
        }
        long now = engine().now();
        holdEnds = Nanos.after(now, user.maxHold());
        grant.restart(user.ofMember(), now);
        return true;
    }

    /** The user has it now: observers know of it from now on, and of a loss that came before. */
    public void letObserve() {
        LossReason already = grant.home().locked(() -> {
            observed = true;
            return lost;
        });
        if (already != null) {
            reportLoss(already);
        }
    }

    boolean isObserved() {
        return observed && engine().callbacks().isObserved();
    }

    /** Whether it was neither lost nor released. */
    public boolean isOpen() {
        return !released && lost == null;
    }

    boolean isReleased() {
        return released;
    }

    public @Nullable LossReason lossReason() {
        return lost;
    }

    /** Whether its thread, which alone may unlock it, has died. */
    public boolean isOfDeadThread() {
        return forThread && thread != null && !thread.isAlive();
    }

    // ---- listeners ----

    @Override
    public void onLost(Consumer<LossReason> listener) {
        Objects.requireNonNull(listener, "listener"); // else it is missed at the loss only
        LossReason already = grant.home().locked(() -> {
            if (isOpen()) {
                lossListeners = plus(lossListeners, listener);
            }
            return released ? null : lost;
        });
        if (already != null) {
            engine().callbacks().run(() -> listener.accept(already));
        }
    }

    /**
     * Registers the one part of the engine that must know of the loss in time, whatever the users' listeners and their executor
     * do: it is called on a thread that no code of users can occupy, at once if the hold is lost already.
     *
     * @param listener must neither block nor do I/O nor run code of the user's
     */
    public void whenLost(Consumer<LossReason> listener) {
        LossReason already = grant.home().locked(() -> {
            whenLost = listener;
            return released ? null : lost;
        });
        if (already != null) {
            listener.accept(already);
        }
    }

    /** The first loss of a member of a multi-lock interrupts its thread, and no other does. */
    public static void interruptOnFirstLoss(List<Hold> members) {
        AtomicBoolean once = new AtomicBoolean();
        for (Hold member : members) {
            boolean already = member.grant.home().locked(() -> {
                member.interrupted = once;
                return member.lost != null;
            });
            if (already) {
                member.engine().callbacks().run(() -> member.grant.home().change(() -> member.interruptOwner(once)));
            }
        }
    }

    @Override
    public void onInDoubt(Consumer<Duration> listener) {
        Objects.requireNonNull(listener, "listener");
        Consumer<Duration> handingOver = left -> engine().callbacks().run(() -> listener.accept(left));
        if (whenInDoubt(handingOver)) {
            handingOver.accept(remaining());
        }
    }

    /**
     * Registers a part of the engine that must know of doubt in time; it is called on the thread that watches the time, and must
     * neither block nor run code of the user's. Returns whether it is in doubt already.
     */
    boolean whenInDoubt(Consumer<Duration> listener) {
        return grant.home().locked(() -> {
            doubtListeners = plus(doubtListeners, listener);
            return isInReportedDoubt();
        });
    }

    /** Under the mutex: whether it is in doubt, and its listeners were notified of that. */
    private boolean isInReportedDoubt() {
        return isHeld() && grant.isDoubtReported();
    }

    /**
     * Calls the listener each time when one of the holds comes to be in doubt while no other one is. All are watched by one
     * thread, one after the other.
     */
    static void onFirstInDoubt(List<Hold> holds, Consumer<Duration> listener, Supplier<Duration> remaining) {
        Runnable handOver = () -> {
            Duration left = remaining.get();
            holds.get(0).engine().callbacks().run(() -> listener.accept(left));
        };
        boolean already = false;
        for (Hold hold : holds) {
            already |= hold.whenInDoubt(ofOne -> {
                if (holds.stream()
                        .noneMatch(other -> other != hold && other.grant.home().locked(other::isInReportedDoubt))) {
                    handOver.run();
                }
            });
        }
        if (already) {
            handOver.run();
        }
    }

    private static <T> List<T> plus(List<T> listeners, T another) {
        return Stream.concat(listeners.stream(), Stream.of(another)).toList();
    }

    /** Under the mutex: the renewal is overdue. */
    void reportDoubt(long now) {
        if (isOpen() && !doubtListeners.isEmpty()) {
            List<Consumer<Duration>> listeners = doubtListeners;
            Duration left = Duration.ofNanos(Math.max(0, deadline() - now));
            grant.home().afterwards(() -> listeners.forEach(listener -> listener.accept(left)));
        }
    }

    /** Under the mutex: it is lost, unless it has ended already. */
    void lose(LossReason reason) {
        if (!isOpen()) {
            return;
        }
        lost = reason;
        List<Consumer<LossReason>> listeners = lossListeners;
        lossListeners = List.of();
        AtomicBoolean interrupt = interrupted;
        boolean reported = observed;
        Consumer<LossReason> first = whenLost;
        grant.home().afterwards(() -> {
            if (first != null) {
                first.accept(reason);
            }
            notifyOfLoss(reason, listeners, interrupt);
            if (reported) {
                reportLoss(reason);
            }
        });
        if (forThread) {
            watchThread();
        }
    }

    // A thread that has died will never unlock, so that somebody else must forget what it held.
    private void watchThread() {
        Engine engine = engine();
        if (isOfDeadThread()) {
            grant.home().forgetDeadThreads();
        } else {
            Alarm look = new Alarm(() -> grant.home().change(() -> {
                if (!released && !engine.isClosed()) {
                    watchThread();
                }
            }));
            threadWatch = look;
            engine.losses()
                    .schedule(look, Nanos.after(engine.now(), grant.validity().span()));
        }
    }

    private void notifyOfLoss(
            LossReason reason, List<Consumer<LossReason>> listeners, @Nullable AtomicBoolean interrupt) {
        Callbacks callbacks = engine().callbacks();
        if (thread != null && interrupt != null) {
            callbacks.run(() -> grant.home().change(() -> interruptOwner(interrupt)));
        }
        listeners.forEach(listener -> callbacks.run(() -> listener.accept(reason)));
    }

    private void reportLoss(LossReason reason) {
        engine().callbacks().observe(observer -> observer.lost(spec.name().value(), reason));
    }

    // Under the mutex, so that a thread that has released is never hit.
    private void interruptOwner(AtomicBoolean once) {
        if (thread != null && !released && once.compareAndSet(false, true)) {
            thread.interrupt();
        }
    }

    @Override
    public void extend(Duration lease) {
        HoldExtension.extend(List.of(this), lease);
    }

    // ---- the end ----

    /** Under the mutex: ends it here. What is left to do is done by the result; null if there is nothing. */
    public @Nullable HoldEnd end() {
        if (released) {
            return null;
        }
        markReleased();
        boolean goesBack = grant.leave(this);
        boolean isSilent = !goesBack && lost == null && !isObserved();
        return isSilent ? null : new HoldEnd(this, goesBack ? HoldEnd.Rest.RELEASE : HoldEnd.Rest.REPORT);
    }

    private void markReleased() {
        grant.noticeLoss(this);
        released = true;
        if (threadWatch != null) {
            engine().losses().remove(threadWatch);
        }
    }

    /**
     * Under the mutex: a count of its thread has ended, and others go on.
     *
     * @param asRead whether only read holds go on
     * @return what is left to do; null if there is nothing
     */
    public @Nullable HoldEnd continueAs(boolean asRead) {
        grant.noticeLoss(this);
        if (lost != null) {
            return new HoldEnd(this, HoldEnd.Rest.REPORT_LOSS);
        }
        if (!asRead) {
            return null;
        }
        grant.shrinkTo(grant.spec().asRead());
        return new HoldEnd(this, HoldEnd.Rest.SHRINK);
    }

    @Override
    public void release() {
        HoldEnd end = grant.home().locked(this::end);
        if (end != null) {
            end.await();
        }
    }

    @Override
    public CompletableFuture<Void> releaseAsync() {
        HoldEnd end = grant.home().locked(this::end);
        return end == null ? CompletableFuture.completedFuture(null) : HoldEnd.allAsync(List.of(end));
    }

    @Override
    public void letExpire() {
        HoldEnd end = grant.home().locked(() -> {
            if (released) {
                return null;
            }
            markReleased();
            grant.leaveToExpire(this);
            return new HoldEnd(this, HoldEnd.Rest.REPORT);
        });
        if (end != null) {
            end.await();
        }
    }

    /** The store said at the release that it had ended before. */
    void markBroken() {
        lost = LossReason.BROKEN;
    }

    /** Says that, and why, it was lost. */
    public LockLostException lostException() {
        LossReason reason = lost == null ? LossReason.EXPIRED : lost;
        String why = switch (reason) {
            case EXPIRED ->
                "its time was over before it was renewed or released: give it a longer lease or renewal, or do"
                        + " less while holding it";
            case TAKEN -> "another client holds it now";
            case BROKEN -> "it was released by somebody else, or the store lost its data";
            case STORE_UNREACHABLE -> "the store could not be reached to renew it";
            case CLOSED -> "its Holdfast was closed";
            case RESIGNED -> "its holder resigned";
        };
        return new LockLostException(
                "Lock \"" + spec.name() + "\" was lost (" + reason + ") while client " + engine().clientId()
                        + " held it with token " + token + ": " + why + ". What was done since may have overlapped with"
                        + " another holder",
                reason);
    }

    @Override
    public String toString() {
        return "Lease[" + spec.name() + ", token " + token + ", " + state() + "]";
    }
}
