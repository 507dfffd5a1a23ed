package dev.holdfast.engine.simulation;

import dev.holdfast.LockException;
import dev.holdfast.LossReason;
import dev.holdfast.election.Candidate;
import dev.holdfast.election.ElectionOptions;
import dev.holdfast.election.Term;
import dev.holdfast.internal.election.LeaderElection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * A candidate of a process: one election, what it was notified of, and threads that lead, wait to lead, proclaim and ask. A listener
 * learns of a term before its tasks run, and of its end once; nothing of an old term goes on in a new one; who resigns leads no
 * more at once, and nobody else leads before all that belongs to his term has ended.
 */
final class SimulatedCandidate {

    private static final int MOST_THREADS = 2;
    private static final int LISTENER_FAILS_ONCE_IN = 30;
    private static final int LISTENER_RESIGNS_ONCE_IN = 30;
    private static final int NOT_READY_ONCE_IN = 6;
    private static final int INTERRUPTED_ONCE_IN = 30;
    private static final int DIES_ONCE_IN = 100;
    private static final long MOST_WORK = 5_000 * Weather.MILLI;
    private static final long LONG = 3_600_000 * Weather.MILLI;

    /** What code of users throws, which ends nothing of the engine's. */
    static final class Theirs extends RuntimeException {
        private static final long serialVersionUID = 1;

        Theirs() {
            super("A listener or a task has failed");
        }
    }

    private record OfTerm(Term term) implements Held.Belief {
        @Override
        public boolean isValid() {
            return term.isValid();
        }

        @Override
        public long token(String name) {
            return term.token();
        }

        @Override
        public String toString() {
            return term.toString();
        }
    }

    /** A thread of its process that uses the election. */
    private static final class User {
        private final SimulatedThread thread;
        /** Whether somebody else than the election has interrupted it in the present call. */
        private boolean interrupted;

        private User(SimulatedThread thread) {
            this.thread = thread;
        }
    }

    private interface Call {
        void run() throws InterruptedException;
    }

    private final World world;
    private final Chance chance;
    private final ThreadUser.Host host;
    private final SimulatedElections all;
    private final SimulatedProcess process;
    private final SharedName name;
    private final String id;
    private final boolean observes;
    private final LeaderElection election;
    private final List<User> users = new ArrayList<>();

    private boolean isStarted;
    /** The term of which listeners know, and which has not ended for them; null if there is none. */
    private Held term;
    /** How many tasks of the term run. */
    private int tasks;
    /** Until then nobody else leads, unless all that belongs to its term, which it has given up, has ended. */
    private long handsOverUntil;

    private Held handedOver;
    private boolean hasResigned;
    /** Completes when it has left; null before it leaves. */
    private CompletableFuture<Void> leaving;

    /** Whom its observer has seen last. */
    private String seen = "";

    private long newestSeen;

    SimulatedCandidate(
            World world,
            ThreadUser.Host host,
            SimulatedElections all,
            SimulatedProcess process,
            SharedName name,
            String id) {
        this.world = world;
        this.chance = world.chance();
        this.host = host;
        this.all = all;
        this.process = process;
        this.name = name;
        this.id = id;
        this.election = (LeaderElection) process.client().election(name.toString(), anyOptions());
        election.onElected(this::elected);
        election.onLost(this::lost);
        election.onFailure(host::met);
        this.observes = chance.once(3);
        if (observes) {
            election.observe(this::observed);
        }
        for (int i = chance.below(MOST_THREADS + 1); i > 0; i--) {
            users.add(new User(process.newThread(false)));
        }
        if (users.isEmpty() || chance.once(2)) {
            isStarted = true;
            election.start();
        }
        world.note(this, "is a candidate");
    }

    private ElectionOptions anyOptions() {
        int[] leases = {200, 400, 1_000, 3_000};
        return ElectionOptions.defaults()
                .withId(id)
                .withLease(Duration.ofMillis(leases[chance.below(leases.length)]))
                .withStoreTimeout(Duration.ofMillis(500 + chance.below(4_000)))
                .withObserveEvery(Duration.ofMillis(200 + chance.below(3_000)))
                .withReady(() -> world.weather() == Weather.CLEAR || !chance.once(NOT_READY_ONCE_IN));
    }

    SimulatedProcess process() {
        return process;
    }

    SharedName name() {
        return name;
    }

    /** Whether somebody must lead, since this one would. */
    boolean stands() {
        return isStarted && leaving == null;
    }

    boolean leads() {
        return election.isLeader();
    }

    /** Whether its observer, if it has one, has seen this leader last. */
    boolean sees(SimulatedCandidate leader) {
        return !observes || seen.equals(leader.id);
    }

    // ---- what it does ----

    /** Does one thing, if one of its threads is free. */
    void act() {
        User user = users.isEmpty() ? null : chance.of(users);
        if (user == null) {
            world.doOne();
        } else if (user.thread.isIdle()) {
            begin(user);
        } else if (chance.once(INTERRUPTED_ONCE_IN)) {
            world.note(user.thread, "is interrupted");
            user.interrupted = true;
            user.thread.interrupt();
        } else if (chance.once(DIES_ONCE_IN)) {
            world.note(user.thread, "ends");
            process.end(user.thread);
            users.set(users.indexOf(user), new User(process.newThread(false)));
        } else {
            world.doOne();
        }
    }

    private void begin(User user) {
        switch (chance.below(8)) {
            case 0 -> begin(user, () -> awaitTerm(chance.below(3_000)));
            case 1 -> begin(user, this::proclaim);
            case 2 -> begin(user, this::requireKnown);
            case 3 -> {
                if (chance.once(4)) {
                    leave();
                    begin(user, election::close);
                }
            }
            default -> {
                isStarted = true;
                begin(user, () -> election.run(present -> lead(user, present)));
            }
        }
    }

    private void begin(User user, Call call) {
        user.interrupted = false;
        user.thread.begin(() -> {
            boolean interrupted = false;
            try {
                call.run();
            } catch (InterruptedException thrown) {
                interrupted = true;
            } catch (LockException honest) {
                host.met(honest);
            } catch (Theirs comesOut) {
                world.note(user.thread, "has failed");
            }
            if ((interrupted || Thread.interrupted()) && !user.interrupted) {
                throw new AssertionError(user.thread + " is interrupted, and its term alone has interrupted it");
            }
        });
    }

    private void proclaim() {
        election.proclaim("at " + world.next());
    }

    private void awaitTerm(long millis) throws InterruptedException {
        Optional<Term> won = election.awaitTerm(Duration.ofMillis(millis));
        if (won.isPresent() && !isPresent(won.get())) {
            throw new AssertionError(this + " has waited for " + won + ", which is not valid");
        }
    }

    private void lead(User user, Term present) throws InterruptedException {
        if (!isPresent(present)) {
            throw new AssertionError("A task of " + this + " runs in " + present + ", and not in " + term);
        }
        world.note(user.thread, "leads");
        tasks++;
        try {
            work(user.thread, present);
            if (chance.once(6)) {
                throw new Theirs();
            }
        } finally {
            givesUp();
            tasks--;
        }
    }

    // Until the term is over, until it is interrupted, for a while whatever comes, or one thing.
    private void work(SimulatedThread thread, Term present) throws InterruptedException {
        switch (chance.below(8)) {
            case 0, 1 -> {
                while (present.isValid()) {
                    thread.park(null, chance.mostlyShort(1_000 * Weather.MILLI));
                }
            }
            case 2, 3 -> {
                while (!Thread.interrupted()) {
                    thread.park(null, LONG);
                }
                throw new InterruptedException();
            }
            case 4 -> {
                long end = world.now() + chance.mostlyShort(MOST_WORK);
                while (world.now() < end) {
                    thread.park(null, end - world.now());
                }
            }
            case 5 -> proclaim();
            case 6 -> requireKnown();
            default -> resign();
        }
    }

    private boolean isPresent(Term present) {
        return present.isValid() && term != null && term.token(name) == present.token();
    }

    // Who leads is what the store keeps.
    private void requireKnown() {
        Held before = term;
        Optional<Candidate> leader = election.leader();
        if (before != null
                && before.isValid()
                && !name.isBroken(before)
                && (leader.isEmpty()
                        || leader.get().token() != before.token(name)
                        || !isCalled(leader.get().id()))) {
            throw new AssertionError(before + " is valid, but the leader is " + leader);
        }
    }

    void resign() {
        world.note(this, "resigns");
        givesUp();
        election.resign();
        requireOver();
    }

    /** Leaves the election. What it does there comes to its end. */
    void leave() {
        if (leaving == null) {
            world.note(this, "leaves");
            givesUp();
            all.left(this);
            leaving = election.leave();
            requireOver();
        }
    }

    private void givesUp() {
        hasResigned = true;
        if (term != null && term.isValid() && !process.gone) {
            handedOver = term;
            handsOverUntil =
                    world.now() + election.term().orElseThrow().remaining().toNanos() * 98 / 100;
        }
    }

    private void requireOver() {
        if (election.isLeader() || (term != null && term.isValid())) {
            throw new AssertionError(this + " has resigned or left, and leads");
        }
    }

    /** The client of its process was closed, which has ended what goes on, or will. */
    void clientIsClosed() {
        requireOver();
        leaving = election.leave();
    }

    // ---- what it is notified of ----

    private void elected(Term won) {
        world.note(this, "is elected");
        if (term != null || tasks > 0) {
            throw new AssertionError(this + " is elected, but there is still " + term + " with " + tasks + " tasks");
        }
        if (!won.isValid() || hasLeft()) {
            throw new AssertionError(this + " is elected in " + won + ", which is over");
        }
        hasResigned = false;
        handsOverUntil = 0;
        term = new Held(new OfTerm(won), process, List.of(name), 1, 1);
        host.hold(term);
        all.elected(this);
        if (chance.once(LISTENER_RESIGNS_ONCE_IN)) {
            resign();
        }
        failSometimes();
    }

    private void lost(LossReason reason) {
        world.note(this, "has lost: " + reason);
        Held over = term;
        if (over == null || over.isValid()) {
            throw new AssertionError(this + " was notified of the loss of " + over);
        }
        boolean isOwn = reason == LossReason.RESIGNED || reason == LossReason.CLOSED;
        if (isOwn && !hasResigned && !process.gone && !process.engine().isClosed()) {
            throw new AssertionError(this + " has not given up " + over + ", but it was notified of " + reason);
        }
        host.drop(over);
        term = null;
        failSometimes();
    }

    private void failSometimes() {
        if (chance.once(LISTENER_FAILS_ONCE_IN)) {
            throw new Theirs();
        }
    }

    private void observed(Optional<Candidate> leader) {
        long token = leader.map(Candidate::token).orElse(newestSeen);
        if (token < newestSeen) {
            throw new AssertionError(this + " has seen " + leader + " after " + newestSeen);
        }
        newestSeen = token;
        seen = leader.map(Candidate::id).orElse("");
    }

    // ---- what must hold ----

    void check() {
        if (hasLeft() && (term != null || tasks > 0)) {
            throw new AssertionError(this + " has left, but there is still " + term + " with " + tasks + " tasks");
        }
        Optional<Term> present = election.term();
        if (present.isPresent() && !isPresent(present.get())) {
            throw new AssertionError(this + " leads in " + present + ", of which its listener does not know: " + term);
        }
        if (present.isPresent() && users.stream().anyMatch(user -> user.thread.isAsleep())) {
            throw new AssertionError(
                    this + " leads in " + present + ", but a thread still sleeps that waits for a term");
        }
    }

    /** Another one leads now, so that all that belongs to a term which this one has given up must have ended. */
    void requireHandedOver(SimulatedCandidate next) {
        boolean goesOn = term == handedOver || tasks > 0;
        if (goesOn
                && world.now() < handsOverUntil
                && !process.engine().isClosed()
                && !name.isBroken(handedOver)
                && !name.isBroken(next.term)) {
            throw new AssertionError(
                    next + " leads, while what " + this + " has given up still goes on, with " + tasks + " tasks");
        }
    }

    /** Whether it has left, and nothing of it goes on. */
    boolean isOver() {
        return term == null && tasks == 0 && users.stream().allMatch(user -> user.thread.isIdle()) && leaving.isDone();
    }

    /** Whether its leaving is done. */
    boolean hasLeft() {
        return leaving != null && leaving.isDone();
    }

    /** Whether a label in the store is its own. */
    boolean isCalled(String label) {
        return label.equals(id) || label.startsWith(id + " ");
    }

    void endThreads() {
        users.forEach(user -> process.end(user.thread));
    }

    @Override
    public String toString() {
        return id + " of " + process + " for " + name;
    }
}
