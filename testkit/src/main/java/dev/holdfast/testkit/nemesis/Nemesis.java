package dev.holdfast.testkit.nemesis;

import dev.holdfast.testkit.Seeds;
import dev.holdfast.testkit.process.FaultProxy;
import dev.holdfast.testkit.process.ServerClock;
import dev.holdfast.testkit.process.SmallDisk;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.Deque;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Injects faults, several at a time, in an order that is drawn at random: first each kind once, then in proportion to their
 * shares. There is always a member to which nothing is done, and at most one thing is done to the server at a time.
 *
 * <p>Used by one thread, but for {@link #afterRead}.
 */
final class Nemesis {

    private static final long LONGEST_GAP_MILLIS = 150;
    private static final int LONGEST_ANSWERS_CUT_MILLIS = 200;
    private static final int LONGEST_DELAY_MILLIS = 100;

    /** A holder stays frozen until another one has written, but no longer than so many times the bound. */
    private static final int MOST_BOUNDS = 5;

    private static final Duration STEP = Duration.ofHours(1);

    private final Scenario scenario;
    private final SharedSet set;
    /** Members that are killed are replaced in it. */
    private final List<Member> members;

    private final Runnable replacement;
    private final Random random = new Random(Seeds.of("nemesis"));
    private final Deque<Injection> deck = new ArrayDeque<>();
    private final Map<Injection, Integer> counts = new EnumMap<>(Injection.class);
    private final Queue<Healing> healings = new PriorityQueue<>(Comparator.comparingLong(Healing::due));
    /** What is done to the next member that has read the set, holds the lock, and is about to write. */
    private final AtomicReference<@Nullable Ambush> ambush = new AtomicReference<>();

    private final Queue<Ambush.Caught> caught = new ConcurrentLinkedQueue<>();
    private @Nullable CompletableFuture<Void> serverWork;
    private boolean serverIsAfflicted;
    /** Whether a holder is frozen, or is to be. */
    private boolean holderIsFrozen;

    private int injected;
    private long nextAt = System.nanoTime();

    /** What is due later: it is done then, as soon as it may be. */
    private record Healing(long due, BooleanSupplier mayBeDone, Runnable action) {}

    /** Waits for a member that holds the lock. */
    private record Ambush(Injection kind) {

        private record Caught(Injection kind, Member holder, int writesBefore) {}
    }

    /**
     * @param members those to which faults are done
     * @param replacement adds a member in the place of one that was killed and removed
     */
    Nemesis(Scenario scenario, SharedSet set, List<Member> members, Runnable replacement) {
        this.scenario = scenario;
        this.set = set;
        this.members = members;
        this.replacement = replacement;
        deck.addAll(shuffled(List.copyOf(scenario.kinds())));
    }

    private List<Injection> shuffled(List<Injection> kinds) {
        List<Injection> mixed = new ArrayList<>(kinds);
        Collections.shuffle(mixed, random);
        return mixed;
    }

    /** How many faults were injected. */
    int injected() {
        return injected;
    }

    /** How many there are of one kind at least: each comes once in so many. */
    int kinds() {
        return scenario.kinds().size();
    }

    boolean hasInjectedEachKind() {
        return counts.keySet().containsAll(scenario.kinds());
    }

    Map<Injection, Integer> counts() {
        return counts;
    }

    /** A member has read the set: it may be frozen or killed before it is answered. Called by any thread. */
    void afterRead(Member holder) {
        Ambush waiting = ambush.get();
        if (waiting == null || well().size() < 2 || !holder.afflict()) {
            return;
        }
        if (!ambush.compareAndSet(waiting, null)) {
            holder.recovered();
            return;
        }
        int writesBefore = set.writes();
        if (waiting.kind() == Injection.KILL_HOLDER) {
            holder.end();
        } else {
            holder.freeze();
        }
        caught.add(new Ambush.Caught(waiting.kind(), holder, writesBefore));
    }

    /** Does what is due now: heals, and injects the next fault if it is time for it and possible. */
    void act() {
        tend();
        if (System.nanoTime() - nextAt >= 0) {
            if (deck.isEmpty()) {
                refill();
            }
            if (injects(deck.getFirst())) {
                deck.removeFirst();
                nextAt = System.nanoTime() + millis(1, LONGEST_GAP_MILLIS);
            }
        }
    }

    /** Injects nothing more, and heals what is due. */
    void calmDown() {
        ambush.set(null);
        tend();
    }

    /** Whether all faults are over. */
    boolean isCalm() {
        return healings.isEmpty() && serverWork == null && members.stream().noneMatch(Member::isAfflicted);
    }

    /** After a run that failed: other tests may use the server, too. */
    void leaveServerWell() {
        TargetServer target = scenario.server();
        if (target == null || !serverIsAfflicted) {
            return;
        }
        CompletableFuture<Void> work = serverWork;
        try {
            if (work != null) {
                work.join();
            }
        } catch (CompletionException reported) {
            // The run has failed already.
        }
        if (target.server().isRunning()) {
            target.server().thaw();
        } else {
            target.server().startAgain();
        }
    }

    private void tend() {
        heal();
        for (Ambush.Caught one = caught.poll(); one != null; one = caught.poll()) {
            sprung(one);
        }
        CompletableFuture<Void> work = serverWork;
        if (work != null && work.isDone()) {
            serverWork = null;
            serverIsAfflicted = false;
            work.join();
        }
        restartIfEnded();
    }

    /** Some servers end when they cannot write; as a supervisor does, this starts them again when there is room. */
    private void restartIfEnded() {
        TargetServer target = scenario.server();
        if (scenario.disk() != null
                && target != null
                && !serverIsAfflicted
                && !target.server().isRunning()) {
            serverIsAfflicted = true;
            work(target.server()::startAgain);
        }
    }

    private void refill() {
        List<Injection> all = new ArrayList<>();
        for (Injection kind : scenario.kinds()) {
            all.addAll(Collections.nCopies(kind.share(), kind));
        }
        deck.addAll(shuffled(all));
    }

    private void heal() {
        List<Healing> early = new ArrayList<>();
        for (Healing next = healings.peek();
                next != null && System.nanoTime() - next.due() >= 0;
                next = healings.peek()) {
            healings.remove();
            if (next.mayBeDone().getAsBoolean()) {
                next.action().run();
            } else {
                early.add(next);
            }
        }
        healings.addAll(early);
    }

    /** Whether it could be injected now. */
    private boolean injects(Injection kind) {
        return switch (kind) {
            case FREEZE_HOLDER -> {
                // One at a time: if the next holder were frozen, too, nobody would write.
                boolean free = !holderIsFrozen && ambush.compareAndSet(null, new Ambush(kind));
                holderIsFrozen |= free;
                yield free;
            }
            case KILL_HOLDER -> ambush.compareAndSet(null, new Ambush(kind));
            case END_SESSION -> endsSession();
            case FREEZE_SERVER, KILL_SERVER, CLOCK_FORWARD, CLOCK_BACK, FULL_DISK -> disturbsServer(kind);
            case CUT_OFF_LEADER,
                    CUT_OFF_FOLLOWER,
                    DROP_FROM_LEADER,
                    DROP_TO_LEADER,
                    DROP_FROM_FOLLOWER,
                    DROP_TO_FOLLOWER -> cutsOff(kind);
            default -> {
                Member victim = victim();
                if (victim == null) {
                    yield false;
                }
                disturb(victim, kind);
                count(kind);
                yield true;
            }
        };
    }

    /** A member that is well, if another one remains; it is marked. */
    private @Nullable Member victim() {
        List<Member> well = well();
        if (well.size() < 2) {
            return null;
        }
        Member chosen = well.get(random.nextInt(well.size()));
        return chosen.afflict() ? chosen : null;
    }

    private List<Member> well() {
        return members.stream().filter(Member::isWell).toList();
    }

    private void disturb(Member victim, Injection kind) {
        switch (kind) {
            case FREEZE_CLIENT -> {
                victim.freeze();
                healAfter(longerThanTheBound(), () -> recover(victim, victim::thaw));
            }
            case KILL_CLIENT -> {
                victim.end();
                replace(victim);
            }
            case NO_HANDLES -> {
                Handles.take(victim.pid());
                victim.endConnections();
                healAfter(anyTime(), () -> recover(victim, () -> Handles.giveBack(victim.pid())));
            }
            case NO_MEMORY -> {
                long time = anyTime();
                victim.takeMemory(time);
                healAfter(time, victim::recovered);
            }
            case BREAK_LINE -> {
                victim.line().endConnections();
                victim.recovered();
            }
            case BLACK_HOLE -> {
                victim.line().silence();
                healAfter(anyTime(), () -> recover(victim, victim.line()::heal));
            }
            case PARTITION -> {
                victim.network().cut();
                healAfter(anyTime(), () -> recover(victim, victim.network()::heal));
            }
            case DELAY -> {
                victim.line().delay(Duration.ofNanos(millis(1, LONGEST_DELAY_MILLIS)));
                healAfter(anyTime(), () -> recover(victim, victim.line()::heal));
            }
            case LOSE_REPLIES -> {
                victim.line().silence(FaultProxy.Way.TO_CLIENT);
                healAfter(
                        millis(1, LONGEST_ANSWERS_CUT_MILLIS),
                        () -> recover(victim, () -> {
                            victim.line().endConnections();
                            victim.line().heal();
                        }));
            }
            default -> throw new AssertionError(kind);
        }
    }

    private static void recover(Member victim, Runnable healing) {
        healing.run();
        victim.recovered();
    }

    /** A holder was frozen or killed in the midst of its turn. */
    private void sprung(Ambush.Caught one) {
        if (one.kind() == Injection.KILL_HOLDER) {
            count(one.kind());
            replace(one.holder());
            return;
        }
        long giveUp = System.nanoTime() + MOST_BOUNDS * scenario.bound().toNanos();
        healings.add(new Healing(
                System.nanoTime(),
                () -> set.writes() > one.writesBefore() || System.nanoTime() - giveUp > 0,
                () -> thaw(one)));
    }

    // On a file, a process that is frozen in the midst of a renewal stops everybody: then it shows nothing about stale
    // writes.
    private void thaw(Ambush.Caught one) {
        if (set.writes() > one.writesBefore()) {
            count(one.kind());
        } else {
            count(Injection.FREEZE_CLIENT);
            deck.addFirst(one.kind());
        }
        long thawed = System.nanoTime();
        one.holder().thaw();
        // Nothing else is done to it before it has tried to write, and no other holder is frozen: its stale
        // write would count for the write of others that such a holder waits for.
        healings.add(new Healing(thawed, () -> one.holder().hasSpokenSince(thawed), () -> {
            holderIsFrozen = false;
            one.holder().recovered();
        }));
    }

    private void replace(Member killed) {
        members.remove(killed);
        replacement.run();
    }

    private boolean endsSession() {
        boolean ended = !serverIsAfflicted
                && scenario.server() instanceof TargetServer.WithSessions server
                && server.endSessionOfHolder(Adder.LOCK);
        if (ended) {
            count(Injection.END_SESSION);
        }
        return ended;
    }

    private boolean disturbsServer(Injection kind) {
        TargetServer target = scenario.server();
        if (serverIsAfflicted || target == null) {
            return false;
        }
        serverIsAfflicted = true;
        switch (kind) {
            case FREEZE_SERVER -> {
                target.server().freeze();
                healServerAfter(anyTime(), target.server()::thaw);
            }
            case KILL_SERVER ->
                work(() -> {
                    target.server().kill();
                    target.server().startAgain();
                });
            case CLOCK_FORWARD -> {
                Objects.requireNonNull(scenario.clock()).step(STEP);
                serverIsAfflicted = false;
            }
            case CLOCK_BACK -> {
                ServerClock clock = Objects.requireNonNull(scenario.clock());
                clock.step(STEP.negated());
                healServerAfter(anyTime(), () -> clock.step(STEP));
            }
            case FULL_DISK -> {
                SmallDisk disk = Objects.requireNonNull(scenario.disk());
                disk.fill();
                healServerAfter(anyTime(), disk::free);
            }
            default -> throw new AssertionError(kind);
        }
        count(kind);
        return true;
    }

    private boolean cutsOff(Injection kind) {
        TargetCluster cluster = scenario.cluster();
        if (serverIsAfflicted || cluster == null) {
            return false;
        }
        serverIsAfflicted = true;
        cluster.cutOff(kind, random);
        healAfter(anyTime(), () -> work(cluster::heal));
        count(kind);
        return true;
    }

    /** Lets another thread do what takes the server longer, while other faults go on. */
    private void work(Runnable task) {
        serverWork = CompletableFuture.runAsync(task);
    }

    private void healServerAfter(long nanos, Runnable healing) {
        healAfter(nanos, () -> {
            healing.run();
            serverIsAfflicted = false;
        });
    }

    private void healAfter(long nanos, Runnable healing) {
        healings.add(new Healing(System.nanoTime() + nanos, () -> true, healing));
    }

    private void count(Injection kind) {
        counts.merge(kind, 1, Integer::sum);
        injected++;
    }

    /** Up to one and a half bounds: half of such faults are over before anybody has lost anything. */
    private long anyTime() {
        return millis(scenario.bound().toMillis() / 10, scenario.bound().toMillis() * 3 / 2);
    }

    private long longerThanTheBound() {
        return millis(scenario.bound().toMillis() * 11 / 10, scenario.bound().toMillis() * 3 / 2);
    }

    /** A random time, in nanoseconds. */
    private long millis(long least, long most) {
        return TimeUnit.MILLISECONDS.toNanos(least + random.nextInt(Math.toIntExact(most - least + 1)));
    }
}
