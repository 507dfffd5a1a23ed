package dev.holdfast.engine.simulation;

import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.Released;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.function.BooleanSupplier;

/**
 * True time, the messages that are on their way, and the store. It does one piece of work
 * after the other in an order that its chance decides, and lets time pass. Nothing in it depends on anything but the seed.
 */
final class World {

    /** Now and then time passes although there is work to do: threads are slow. */
    private static final int SLOW_ONCE_IN = 40;

    private static final int[] CALL_TIMEOUTS = {1_000, 1_000, 3_000, 10_000};

    private static final long LONGEST_REST = 10_000 * Weather.MILLI;
    private static final long MOST_SLOWNESS = 3 * Weather.MILLI;

    private record Watch(Party party, LockName name, Runnable mayBeFree) {}

    private record Message(long at, long number, Party to, Party.Work work) implements Comparable<Message> {
        @Override
        public int compareTo(Message other) {
            int byTime = Long.compare(at, other.at);
            return byTime != 0 ? byTime : Long.compare(number, other.number);
        }
    }

    private final Chance chance;
    private final Plant plant;
    private final PriorityQueue<Message> messages = new PriorityQueue<>();
    private final List<Party> parties = new ArrayList<>();
    private final List<Watch> watches = new ArrayList<>();
    private final Party server = new Party("store");
    private final SimulatedClock storeClock;
    private final MemoryLockStore store;
    /** What the release that is under way at the store has granted; for its answer. */
    private final List<Released.Handed> handed = new ArrayList<>();

    /** The last lines of what has happened; null if nobody will read them. */
    private final Trace trace;

    private final Map<ClaimId, SharedName> breaking = new HashMap<>();
    private final Duration callTimeout;
    private Weather weather = Weather.CLEAR;
    private long now;
    private long numbers;
    private long print;
    private Throwable failure;

    World(long seed, Plant plant, Trace trace) {
        this.chance = new Chance(seed);
        this.plant = plant;
        this.trace = trace;
        this.storeClock = new SimulatedClock(this, chance.any(), 0);
        this.store = new MemoryLockStore(storeClock, Duration.ofMillis(600 + chance.below(4_000)));
        this.callTimeout = Duration.ofMillis(CALL_TIMEOUTS[chance.below(CALL_TIMEOUTS.length)]);
        parties.add(server);
    }

    /** Somebody wants hints that a name may be free. */
    ListenerRegistration watch(Party party, LockName name, Runnable mayBeFree) {
        Watch watch = new Watch(party, name, mayBeFree);
        watches.add(watch);
        return () -> watches.remove(watch);
    }

    /** A name may be free, which half of those who want to know hear some time. */
    void hint(LockName name) {
        for (Watch watch : List.copyOf(watches)) {
            if (watch.name().equals(name) && chance.once(2)) {
                send(watch.party(), chance.mostlyShort(weather.pushDelay()), "is hinted", watch.mayBeFree());
            }
        }
    }

    /** For how long the answer to a request may be on its way: longer than many leases, in some worlds. */
    Duration callTimeout() {
        return callTimeout;
    }

    Chance chance() {
        return chance;
    }

    Plant plant() {
        return plant;
    }

    MemoryLockStore store() {
        return store;
    }

    SimulatedClock storeClock() {
        return storeClock;
    }

    List<Released.Handed> handed() {
        return handed;
    }

    /** Somebody breaks a claim of a name, some time. */
    void willBreak(ClaimId claim, SharedName name) {
        breaking.put(claim, name);
    }

    /** A claim is released now. If that is a break, it ends the grant that the claim has now, which may be a later one than was seen. */
    void beforeRelease(Claim claim) {
        SharedName name = breaking.get(claim.id());
        if (name != null) {
            store.inspect(claim.name()).toCompletableFuture().join().stream()
                    .flatMap(state -> state.holders().stream())
                    .filter(holder -> holder.claim().id().equals(claim.id()))
                    .forEach(holder -> name.markBroken(holder.counter()));
        }
    }

    /** The true time, in nanoseconds since the beginning. */
    long now() {
        return now;
    }

    Weather weather() {
        return weather;
    }

    void setWeather(Weather next) {
        weather = next;
    }

    /** A number that depends on all that has happened, and in which order. */
    long print() {
        return print;
    }

    void join(Party party) {
        parties.add(party);
    }

    void leave(Party party) {
        parties.remove(party);
    }

    /** Something is done by a party after a time. */
    void send(Party to, long delay, String what, Runnable task) {
        messages.add(new Message(now + delay, numbers++, to, new Party.Work(what, task)));
    }

    /** Something is done by the store after a time. */
    void sendToStore(long delay, String what, Runnable task) {
        send(server, delay, what, task);
    }

    /** A number that is larger than all before it. */
    long next() {
        return numbers++;
    }

    /** Something went wrong where nobody would learn of an exception. */
    void fail(Throwable cause) {
        failure = failure == null ? cause : failure;
    }

    void throwFailure() {
        if (failure != null) {
            throw new AssertionError("The engine failed with " + failure, failure);
        }
    }

    void note(Object who, String what) {
        print = 31 * (31 * print + now) + what.hashCode();
        if (trace != null) {
            trace.add(now, who, what);
        }
    }

    /** Whether there is nothing to do, now or later. */
    boolean isQuiet() {
        if (!messages.isEmpty()) {
            return false;
        }
        for (Party party : parties) {
            if (party.ready() > 0 || party.wakesAt() != Long.MAX_VALUE) {
                return false;
            }
        }
        return true;
    }

    /** Does one piece of work. If there is none, time passes first. */
    void doOne() {
        deliver();
        if (chance.once(SLOW_ONCE_IN)) {
            now += chance.mostlyShort(MOST_SLOWNESS);
        }
        int choices = choices();
        if (choices == 0) {
            passUntil(Math.min(now + LONGEST_REST, nextTime()));
            deliver();
            choices = choices();
        }
        if (choices > 0) {
            doOne(chance.below(choices));
        }
    }

    private int choices() {
        int choices = 0;
        for (Party party : parties) {
            choices += choices(party);
        }
        return choices;
    }

    private void doOne(int choice) {
        int which = choice;
        for (Party party : parties) {
            int own = choices(party);
            if (which < own) {
                Party.Work work = party.take(which);
                note(party, work.what());
                work.task().run();
                return;
            }
            which -= own;
        }
    }

    private int choices(Party party) {
        return now < party.pausedUntil ? 0 : party.ready();
    }

    private void deliver() {
        for (Message first = messages.peek(); first != null && first.at() <= now; first = messages.peek()) {
            messages.remove();
            first.to().add(first.work());
        }
    }

    private long nextTime() {
        Message first = messages.peek();
        long next = first == null ? Long.MAX_VALUE : first.at();
        for (Party party : parties) {
            long wakes = party.ready() > 0 ? now : party.wakesAt();
            next = Math.min(next, Math.max(wakes, party.pausedUntil));
        }
        return next;
    }

    private void passUntil(long then) {
        now = Math.max(now + 1, then);
        note("time", "passes");
    }

    /** Lets time pass in which nobody does anything. */
    void pass(long nanos) {
        passUntil(now + nanos);
    }

    /** Works until a condition holds, or a time is over. */
    void workUntil(BooleanSupplier condition, long nanos) {
        long end = now + nanos;
        while (!condition.getAsBoolean() && now < end) {
            doOne();
        }
    }
}
