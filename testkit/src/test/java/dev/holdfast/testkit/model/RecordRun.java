package dev.holdfast.testkit.model;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.KindConflictException;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Random operations on records and on the plain rules, of which each must give the same answer and leave the same state. */
final class RecordRun {

    static final Duration TICKET = Duration.ofMillis(150);

    private static final int NAMES = 3;
    private static final int REMEMBERED = 12;
    private static final int MOST_CLAIMS = 40;
    private static final int MINUTE_MICROS = 60_000_000;
    private static final int[] LIMITS = {1, 1, Claim.ALL, 3, 5, 0};
    private static final Duration[] LEASES = {
        Duration.ofMillis(100),
        Duration.ofMillis(100).plusNanos(1),
        Duration.ofMillis(160),
        Duration.ofMillis(250),
        Duration.ofMillis(400)
    };

    /** Makes the record of a name. */
    interface NameFactory {
        RecordedName of(LockName name);
    }

    /** How often each kind of answer was given. */
    static final class Counts {
        private final Map<String, Integer> counts = new TreeMap<>();

        Counts() {
            List.of(
                            "Granted",
                            "Busy",
                            "Waiting",
                            "EXPIRED",
                            "TAKEN",
                            "RELEASED",
                            KindConflictException.class.getSimpleName(),
                            StoreException.class.getSimpleName(),
                            "handed",
                            "true",
                            "false",
                            "refused as released")
                    .forEach(kind -> counts.put(kind, 0));
        }

        void met(String kind) {
            counts.merge(kind, 1, Integer::sum);
        }

        int rarest() {
            return counts.values().stream().min(Integer::compare).orElseThrow();
        }

        @Override
        public String toString() {
            return counts.toString();
        }
    }

    private final long seed;
    private final Random random;
    private final Counts counts;
    private final List<LockName> names = new ArrayList<>();
    private final List<RecordedName> records = new ArrayList<>();
    private final PlainRules rules = new PlainRules(TICKET);
    /** Claims that were made lately, by name. */
    private final List<List<Claim>> made = new ArrayList<>();

    /** The last lines, which are put together only if somebody will read them. */
    private final Deque<Object[]> log = new ArrayDeque<>();

    private long sequence;
    private long now;
    private long wall;

    RecordRun(long seed, Counts counts, NameFactory factory) {
        this.seed = seed;
        this.random = new Random(seed);
        this.counts = counts;
        this.now = random.nextInt(1_000_000);
        this.wall = 1_700_000_000_000_000L + random.nextInt();
        for (int i = 0; i < NAMES; i++) {
            LockName name = new LockName("name " + i);
            names.add(name);
            records.add(factory.of(name));
            made.add(new ArrayList<>());
        }
    }

    void run(int steps) {
        for (int step = 0; step < steps; step++) {
            int which = random.nextInt(NAMES);
            try {
                step(which);
                compareStates(which);
            } catch (AssertionError difference) {
                throw new AssertionError(
                        difference.getMessage() + ", at step " + step + " of seed " + seed + ". The last steps:\n"
                                + log.stream().map(RecordRun::text).collect(Collectors.joining("\n")),
                        difference);
            }
        }
    }

    private void step(int which) {
        if (random.nextInt(6) == 0) {
            letTimePass(which);
        }
        if (random.nextInt(50) == 0) {
            note("written and read");
            records.get(which).writeAndRead();
        }
        int dice = random.nextInt(100);
        if (dice < 12) {
            tryAcquire(which, newClaim(which));
        } else if (dice < 35) {
            enqueue(which, newClaim(which));
        } else if (dice < 55) {
            renew(which, perhapsForAnotherTime(anyClaim(which)));
        } else if (dice < 75) {
            release(which, anyClaim(which));
        } else if (dice < 80) {
            tryAcquire(which, resized(anyHolder(which)));
        } else if (dice < 87) {
            enqueue(which, anyClaim(which));
        } else if (dice < 92) {
            tryAcquire(which, anyClaim(which));
        } else if (dice < 96) {
            releaseAsSeen(which);
        } else {
            release(which, newClaim(which));
        }
    }

    // Now and then exactly to the moment at which something ends, or to a microsecond before or after it.
    private void letTimePass(int which) {
        // What is due now is done now in both, before time goes on.
        compareStates(which);
        long passes = random.nextInt(60_000);
        List<ResourceState.Entry> entries = rules.inspect(names.get(which), now, wall)
                .map(state -> random.nextBoolean() ? state.holders() : state.waiters())
                .orElse(List.of());
        if (!entries.isEmpty() && random.nextInt(3) == 0) {
            long left = entries.get(random.nextInt(entries.size())).remaining().toNanos() / 1_000;
            passes = Math.max(0, left - 1 + random.nextInt(3));
        } else if (random.nextInt(20) == 0) {
            passes = random.nextInt(600_000);
        }
        now += passes;
        wall += passes + (random.nextInt(10) == 0 ? random.nextInt(2 * MINUTE_MICROS) - MINUTE_MICROS : 0);
        note(passes, " us pass");
    }

    private void tryAcquire(int which, Claim claim) {
        boolean wasReleased = rules.released(names.get(which)).containsKey(claim.id());
        Object answer = both(
                "tryAcquire ",
                claim,
                () -> records.get(which).tryAcquire(claim, now, wall),
                () -> rules.tryAcquire(claim, now, wall));
        if (wasReleased && answer instanceof Attempt.Busy) {
            counts.met("refused as released");
        }
    }

    private void enqueue(int which, Claim claim) {
        both(
                "enqueue ",
                claim,
                () -> records.get(which).enqueue(claim, now, wall),
                () -> rules.enqueue(claim, now, wall));
    }

    private void renew(int which, Claim claim) {
        both("renew ", claim, () -> records.get(which).renew(claim, now, wall), () -> rules.renew(claim, now, wall));
    }

    private void release(int which, Claim claim) {
        Claim asSent = random.nextInt(3) == 0 ? claim.again() : claim;
        both(
                "release ",
                asSent,
                () -> records.get(which).release(asSent, now, wall),
                () -> rules.release(asSent, now, wall));
    }

    private void releaseAsSeen(int which) {
        List<ResourceState.Entry> seen = rules.inspect(names.get(which), now, wall)
                .map(state -> random.nextInt(3) > 0 ? state.holders() : state.waiters())
                .orElse(List.of());
        if (seen.isEmpty()) {
            enqueue(which, newClaim(which));
        } else {
            release(which, seen.get(random.nextInt(seen.size())).claim());
        }
    }

    private Claim newClaim(int which) {
        List<Claim> known = made.get(which);
        boolean sameKind = !known.isEmpty() && random.nextInt(20) > 0;
        int limit = sameKind ? known.get(known.size() - 1).limit() : LIMITS[random.nextInt(LIMITS.length)];
        int permits =
                limit == Claim.ALL ? (random.nextInt(3) == 0 ? limit : 1) : 1 + random.nextInt(Math.max(1, limit));
        String client = "client" + random.nextInt(3);
        Claim claim = new Claim(
                names.get(which),
                new ClaimId(client, ++sequence),
                permits,
                limit,
                LEASES[random.nextInt(LEASES.length)],
                OwnerInfo.of(client));
        known.add(claim);
        if (known.size() > MOST_CLAIMS) {
            known.remove(0);
        }
        return claim;
    }

    private Claim anyClaim(int which) {
        List<Claim> known = made.get(which);
        if (known.isEmpty()) {
            return newClaim(which);
        }
        // Mostly a young one, which is still there.
        int back = random.nextInt(3) == 0 ? random.nextInt(known.size()) : random.nextInt(Math.min(6, known.size()));
        return known.get(known.size() - 1 - back);
    }

    private Claim anyHolder(int which) {
        List<ResourceState.Entry> holders = rules.inspect(names.get(which), now, wall)
                .map(ResourceState::holders)
                .orElse(List.of());
        return holders.isEmpty() || random.nextInt(4) == 0
                ? anyClaim(which)
                : holders.get(random.nextInt(holders.size())).claim();
    }

    private Claim perhapsForAnotherTime(Claim claim) {
        Claim asked = random.nextInt(3) == 0 ? claim.withLease(LEASES[random.nextInt(LEASES.length)]) : claim;
        return random.nextInt(5) == 0 ? asked.again() : asked.withOwner(OwnerInfo.of("now" + random.nextInt(2)));
    }

    private Claim resized(Claim claim) {
        int most = Math.max(1, claim.limit());
        return claim.withPermits(
                random.nextInt(4) == 0 ? 1 + random.nextInt(most) : 1 + random.nextInt(claim.permits()));
    }

    private static String text(Object[] line) {
        return Stream.of(line)
                .map(part -> part instanceof Claim claim ? TwinStores.shown(claim) : part.toString())
                .collect(Collectors.joining());
    }

    private Object both(String what, Claim claim, Supplier<Object> ofRecord, Supplier<Object> ofRules) {
        note(what, claim);
        Object ours = outcome(ofRecord);
        Object theirs = outcome(ofRules);
        note("  record ", ours, ", rules ", theirs);
        same(ours, theirs, "an answer");
        counts.met(kind(theirs));
        return theirs;
    }

    private static Object outcome(Supplier<Object> call) {
        try {
            return call.get();
        } catch (StoreException refused) {
            return refused.getClass().getSimpleName() + " with effect " + refused.effect() + ", "
                    + (refused.retryable() ? "retryable" : "for good");
        }
    }

    private static String kind(Object answer) {
        if (answer instanceof Renewed.Gone gone) {
            return gone.reason().name();
        }
        if (answer instanceof Boolean) {
            return answer.toString();
        }
        return answer instanceof String failure
                ? failure.substring(0, failure.indexOf(' '))
                : answer.getClass().getSimpleName();
    }

    private void compareStates(int which) {
        compareHanded(which);
        same(
                records.get(which).inspect(now, wall),
                rules.inspect(names.get(which), now, wall),
                "the state of " + names.get(which));
        same(records.get(which).released(), rules.released(names.get(which)), "what was released");
        compareHanded(which);
    }

    private void compareHanded(int which) {
        List<?> handed = rules.takeHanded();
        same(records.get(which).takeHanded(), handed, "what was handed to waiters");
        handed.forEach(one -> counts.met("handed"));
    }

    private static void same(Object ours, Object theirs, String what) {
        if (!ours.equals(theirs)) {
            throw new AssertionError(
                    "The record and the plain rules differ in " + what + ": record " + ours + ", rules " + theirs);
        }
    }

    private void note(Object... line) {
        if (log.size() == REMEMBERED) {
            log.removeFirst();
        }
        log.addLast(line);
    }
}
