package dev.holdfast.internal.hold;

import dev.holdfast.LockLostException;
import dev.holdfast.LossReason;
import dev.holdfast.internal.Engine;
import dev.holdfast.internal.time.Nanos;
import dev.holdfast.spi.Released;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * What is left to do when a hold has ended here: its claim may have to go back to the store, and its owner
 * may have to learn of a loss.
 */
public final class HoldEnd {

    private static final CompletableFuture<@Nullable Released> NOTHING_TO_SEND =
            CompletableFuture.completedFuture(null);

    /** What is left. */
    enum Rest {
        /** The claim goes back to the store, and the end is reported. */
        RELEASE,
        /** The end is reported. */
        REPORT,
        /** The hold goes on, but its owner must know that it is lost. */
        REPORT_LOSS,
        /** The hold goes on as a read hold, and so must the claim in the store. */
        SHRINK
    }

    private final Hold hold;
    private final Rest rest;

    HoldEnd(Hold hold, Rest rest) {
        this.hold = hold;
        this.rest = rest;
    }

    private Engine engine() {
        return hold.grant().home().engine();
    }

    /**
     * Does it on the calling thread.
     *
     * @throws LockLostException if the hold had been lost
     */
    public void await() {
        finish(answer(send(), hold.spec().storeTimeout()));
    }

    /**
     * Does it for several holds, or none, whose claims go back in parallel.
     *
     * @throws LockLostException if one of them had been lost
     */
    public static void awaitAll(List<HoldEnd> ends) {
        long begun = ends.isEmpty() ? 0 : ends.get(0).engine().now();
        // Where a store blocks, each has a thread of its own. What none has begun, the calling thread does.
        List<Sending> sendings = ends.stream().map(Sending::new).toList();
        for (int i = 1; i < sendings.size(); i++) {
            ends.get(i).engine().dispatchRelease(sendings.get(i)::sendOnce);
        }
        sendings.forEach(Sending::sendOnce);
        List<@Nullable Released> answers = new ArrayList<>(ends.size());
        for (int i = 0; i < ends.size(); i++) {
            HoldEnd end = ends.get(i);
            long until = Nanos.after(begun, end.hold.spec().storeTimeout());
            answers.add(end.answer(
                    sendings.get(i).answer, Nanos.until(until, end.engine().now())));
        }
        LockLostException lost = finishAll(ends, answers);
        if (lost != null) {
            throw lost;
        }
    }

    /** The release of one of several holds, which is sent by whoever comes first. */
    private static final class Sending {

        private final HoldEnd end;
        private final AtomicBoolean begun = new AtomicBoolean();
        private final CompletableFuture<@Nullable Released> answer = new CompletableFuture<>();

        private Sending(HoldEnd end) {
            this.end = end;
        }

        private void sendOnce() {
            if (begun.compareAndSet(false, true)) {
                end.send().whenComplete((released, never) -> answer.complete(released));
            }
        }
    }

    /** Does it for several holds without a thread; fails as {@link #awaitAll} does. */
    public static CompletableFuture<Void> allAsync(List<HoldEnd> ends) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        List<CompletableFuture<@Nullable Released>> sent =
                ends.stream().map(HoldEnd::sendLater).toList();
        CompletableFuture.allOf(sent.toArray(CompletableFuture[]::new))
                .thenRun(() -> ends.get(0).engine().callbacks().run(() -> {
                    List<@Nullable Released> answers = new ArrayList<>(ends.size());
                    sent.forEach(answer -> answers.add(answer.join()));
                    LockLostException lost = finishAll(ends, answers);
                    if (lost == null) {
                        done.complete(null);
                    } else {
                        done.completeExceptionally(lost);
                    }
                }));
        return done;
    }

    // Returns the loss of the first of those that were lost.
    private static @Nullable LockLostException finishAll(List<HoldEnd> ends, List<@Nullable Released> answers) {
        LockLostException lost = null;
        for (int i = ends.size() - 1; i >= 0; i--) {
            try {
                ends.get(i).finish(answers.get(i));
            } catch (LockLostException ofOne) {
                lost = ofOne;
            }
        }
        return lost;
    }

    private CompletableFuture<@Nullable Released> send() {
        if (rest != Rest.RELEASE) {
            return NOTHING_TO_SEND;
        }
        var sent = engine().releases().send(hold.grant().claimToRelease());
        hold.grant().home().released();
        return sent;
    }

    private CompletableFuture<@Nullable Released> sendLater() {
        if (rest != Rest.RELEASE) {
            return NOTHING_TO_SEND;
        }
        var sent = engine().releases().sendLater(hold.grant().claimToRelease());
        sent.thenRun(hold.grant().home()::released);
        return sent;
    }

    private @Nullable Released answer(CompletableFuture<@Nullable Released> sent, long timeout) {
        return engine().calls().joinQuietly(sent, timeout);
    }

    private void finish(@Nullable Released answer) {
        Engine engine = engine();
        String name = hold.spec().name().value();
        if (rest == Rest.SHRINK) {
            hold.grant().sendShrunk();
            return;
        }
        if (rest != Rest.REPORT_LOSS && hold.isObserved()) {
            Duration held = Duration.ofNanos(engine.now() - hold.since());
            engine.callbacks().observeHere(observer -> observer.released(name, held));
        }
        if (answer != null && isBroken(answer)) {
            hold.markBroken();
            if (hold.isObserved()) {
                engine.callbacks().observeHere(observer -> observer.lost(name, LossReason.BROKEN));
            }
        }
        if (hold.lossReason() != null) {
            throw hold.lostException();
        }
    }

    // The store had ended it while it should have lasted. Once its time is over the answer says nothing: the release
    // was sent in time, and may have reached the store too late.
    private boolean isBroken(Released answer) {
        Grant grant = hold.grant();
        return !answer.wasOwner()
                && !grant.claim().repeated()
                && engine().now() < grant.validity().deadline();
    }
}
