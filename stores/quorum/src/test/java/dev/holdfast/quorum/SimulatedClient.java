package dev.holdfast.quorum;

import dev.holdfast.quorum.HoldChecker.Hold;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;

/**
 * A client of a simulated quorum, which does what the engine does: it asks again with the same id after busy, marks what may
 * have been sent, counts validity from before the sending, renews, releases until that is answered. It also does what an
 * operator does, and what a careless user of the store might do.
 */
final class SimulatedClient {

    private static final long MILLI = 1_000_000;
    private static final int MOST_ATTEMPTS = 40;
    private static final int MOST_RELEASES = 60;

    private final SimulatedTime time;
    private final Random random;
    private final SimulatedNetwork.Process process;
    private final QuorumLockStore store;
    private final HoldChecker checker;
    private final List<LockName> names;
    private final Map<String, Integer> met;
    private final Duration lease;
    private final String title;
    private final List<Runnable> ends = new ArrayList<>();
    /** The claims that are never released, because their owner has died. */
    private final Set<String> abandoned = new HashSet<>();

    private long sequence;
    private int busyWith;
    private boolean stopping;

    SimulatedClient(
            SimulatedTime time,
            Random random,
            SimulatedNetwork.Process process,
            QuorumLockStore store,
            HoldChecker checker,
            List<LockName> names,
            Map<String, Integer> met,
            Duration lease,
            String title) {
        this.time = time;
        this.random = random;
        this.process = process;
        this.store = store;
        this.checker = checker;
        this.names = names;
        this.met = met;
        this.lease = lease;
        this.title = title;
    }

    QuorumLockStore store() {
        return store;
    }

    SimulatedNetwork.Process process() {
        return process;
    }

    /** Whether an entry at a node belongs to a claim whose owner has died. */
    boolean hasAbandoned(Claim claim) {
        return abandoned.contains(HoldChecker.idOf(claim).toString());
    }

    boolean isIdle() {
        return busyWith == 0;
    }

    /** Begins nothing new, gives up what is asked for and releases what is held. */
    void stops() {
        stopping = true;
        List.copyOf(ends).forEach(Runnable::run);
    }

    private void meet(String what) {
        met.merge(what, 1, Integer::sum);
    }

    private void later(int atMostMillis, Runnable task) {
        process.after((1 + random.nextInt(atMostMillis)) * MILLI, task);
    }

    private <T> void on(CompletionStage<T> stage, BiConsumer<T, Throwable> then) {
        stage.whenComplete((answer, failure) -> {
            try {
                then.accept(answer, failure);
            } catch (RuntimeException mistake) {
                time.fail("a client failed with " + mistake);
            }
        });
    }

    /** One who acquires, holds and releases again and again. */
    void works() {
        if (!stopping) {
            new Contender().ask();
        }
    }

    /** Breaks locks now and then. */
    void operates() {
        if (stopping) {
            return;
        }
        later(12_000, this::operates);
        on(store.inspect(names.get(random.nextInt(names.size()))), (state, failure) -> {
            if (failure == null && state.isPresent() && !stopping) {
                List<ResourceState.Entry> holders = state.get().holders();
                Claim seen = checker.breaks(
                        holders.get(random.nextInt(holders.size())).claim());
                meet("break");
                int repeats = random.nextBoolean() ? 0 : MOST_RELEASES; // the operator may die half-way
                release(random.nextBoolean() ? seen.again() : seen, repeats);
            }
        });
    }

    private void release(Claim claim, int repeats) {
        busyWith++;
        on(store.release(claim), (released, failure) -> released(claim, repeats, failure));
    }

    private void released(Claim claim, int repeats, Throwable failure) {
        busyWith--;
        if (failure != null && repeats > 0) {
            busyWith++;
            process.after(100 * MILLI, () -> {
                busyWith--;
                release(claim, repeats - 1);
            });
        }
    }

    /** A claim that is asked for until it is granted or given up. */
    private final class Contender {

        private Claim claim = newClaim();
        private int attempts;
        private long asked;
        private boolean over;

        private final Runnable end = () -> giveUp(claim);

        private Contender() {
            busyWith++;
            ends.add(end);
        }

        private Claim newClaim() {
            LockName name = names.get(random.nextInt(names.size()));
            boolean shared = name.value().startsWith("rw");
            int limit = shared ? Claim.ALL : 1;
            int permits = shared && random.nextInt(3) > 0 ? 1 : limit;
            ClaimId id = new ClaimId(title, ++sequence);
            return new Claim(name, id, permits, limit, lease, OwnerInfo.of(title));
        }

        private void ask() {
            if (!claim.repeated()) {
                asked = time.now();
            }
            attempts++;
            claim = claim.withOwner(HoldChecker.owner(claim.id(), attempts));
            Claim sent = claim;
            long at = asked;
            long now = time.now();
            if (random.nextInt(12) == 0) {
                later(300, () -> giveUp(sent));
            }
            on(store.tryAcquire(sent), (attempt, failure) -> answered(sent, at, now, attempt, failure));
        }

        // As the engine does when a wait ends: perhaps while the request is under way, and even before it has left.
        private void giveUp(Claim sent) {
            if (!over && sent.id().equals(claim.id())) {
                meet("give up");
                Claim left = claim.again();
                end();
                release(left, MOST_RELEASES);
            }
        }

        private void end() {
            over = true;
            ends.remove(end);
            busyWith--;
            later(200, SimulatedClient.this::works);
        }

        private void answered(Claim sent, long at, long last, Attempt attempt, Throwable failure) {
            if (over) {
                return;
            }
            if (attempt instanceof Granted granted) {
                over = true;
                ends.remove(end);
                meet("grant");
                new Holder(sent, granted, at, last).begin();
                return;
            }
            StoreException cause = failure == null ? null : StoreException.of(failure);
            if (cause != null && cause.effect() == Effect.UNKNOWN) {
                claim = claim.again();
                meet("unknown");
            }
            meet(cause == null ? "busy" : "failed");
            if (attempts >= MOST_ATTEMPTS || (cause != null && !cause.retryable())) {
                release(claim.again(), MOST_RELEASES);
                end();
            } else {
                if (cause == null && claim.repeated()) {
                    release(claim, MOST_RELEASES);
                    claim = newClaim();
                }
                later(120, this::askUnlessOver);
            }
        }

        private void askUnlessOver() {
            if (!over) {
                ask();
            }
        }
    }

    /** One who holds. */
    private final class Holder {

        private final Hold hold;
        private final long token;
        private final boolean careless = random.nextInt(8) == 0;
        private Claim claim;
        private final Runnable end = this::release;
        /** When the last request was sent that could prolong the grant. */
        private long lastSent;

        /** @param last when the attempt was sent that was granted; validity counts from the first that may have been */
        private Holder(Claim claim, Granted granted, long sent, long last) {
            this.claim = claim;
            this.token = granted.counter();
            this.lastSent = last;
            this.hold = new Hold(claim, token, deadline(sent, granted.lease()));
        }

        private void begin() {
            checker.begins(hold);
            int dice = random.nextInt(20);
            if (dice == 0) {
                meet("died");
                abandoned.add(claim.id().toString());
                busyWith--;
                later(300, SimulatedClient.this::works);
                return;
            }
            ends.add(end);
            later(dice < 5 ? 15_000 : 700, this::release);
            if (claim.permits() == Claim.ALL && dice % 2 == 0) {
                later(500, this::shrink);
            }
            if (dice % 5 == 2) {
                later(500, this::repeat);
            }
            renewLater();
            examine();
        }

        private void renewLater() {
            process.after(lease.toNanos() / 3, this::renew);
        }

        private void examine() {
            process.after(Math.max(1, hold.deadline() - time.now()), () -> {
                if (!hold.isOver() && time.now() >= hold.deadline()) {
                    if (!careless) {
                        meet("expired");
                        release();
                    }
                } else if (!hold.isOver()) {
                    examine();
                }
            });
        }

        private void renew() {
            if (hold.isOver()) {
                return;
            }
            renewLater();
            long sent = time.now();
            long before = lastSent;
            lastSent = sent;
            on(store.renew(List.of(claim)), (answers, failure) -> {
                if (failure == null && !hold.isOver()) {
                    renewed(answers.get(0), sent, before);
                }
            });
        }

        private void renewed(Renewed answer, long sent, long before) {
            if (answer instanceof Granted granted) {
                if (granted.counter() != token) {
                    time.fail(hold + " was renewed with token " + granted.counter());
                }
                if (sent - before > lease.toNanos() + lease.toNanos() / 50) {
                    time.fail(hold + " was revived");
                }
                meet("renewal");
                checker.holdsStill(hold, sent, deadline(sent, granted.lease()));
            } else if (answer instanceof Renewed.Gone) {
                meet("gone");
                hold.ends();
                done();
            }
        }

        private void shrink() {
            if (!hold.isOver()) {
                meet("downgrade");
                hold.shrinks();
                claim = claim.withPermits(1).again();
                repeat();
            }
        }

        private void repeat() {
            if (hold.isOver()) {
                return;
            }
            long sent = time.now();
            lastSent = sent;
            claim = claim.again();
            on(store.tryAcquire(claim), (attempt, failure) -> {
                if (hold.isOver()) {
                    return;
                }
                if (failure != null) {
                    later(100, this::repeat);
                } else if (attempt instanceof Granted granted && granted.counter() == token) {
                    checker.holdsStill(hold, sent, hold.deadline());
                } else {
                    meet("taken");
                    release();
                }
            });
        }

        private void release() {
            if (!hold.isOver()) {
                hold.ends();
                SimulatedClient.this.release(time.now() >= hold.deadline() ? claim.again() : claim, MOST_RELEASES);
                done();
            }
        }

        private void done() {
            ends.remove(end);
            busyWith--;
            later(200, SimulatedClient.this::works);
        }
    }

    private static long deadline(long sent, Duration lease) {
        return sent + lease.toNanos() - lease.toNanos() / 100 - 2 * MILLI;
    }
}
