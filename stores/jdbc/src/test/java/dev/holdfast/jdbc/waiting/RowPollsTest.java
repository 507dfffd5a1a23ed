package dev.holdfast.jdbc.waiting;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import dev.holdfast.jdbc.connection.SerialConnection;
import dev.holdfast.spi.LockName;
import dev.holdfast.testkit.Seeds;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.IntToLongFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** When clients poll, and how often: in simulated time, so that the figures are those of the schedule and not of the machine. */
class RowPollsTest {

    private static final LockName NAME = new LockName("hot");
    private static final long STATEMENT_NANOS = TimeUnit.MICROSECONDS.toNanos(500);

    private final Random random = new Random(Seeds.of("row polls"));
    private final SerialConnection unused = null;

    private RowPolls polls(boolean pushed) {
        return new RowPolls(() -> pushed, bound -> random.nextLong(0, bound));
    }

    /** The pause after a read that found nothing new. */
    private Duration pause(RowPolls polls, int position, Duration age) {
        long start = random.nextLong();
        polls.enqueued(NAME, position, start);
        polls.allAreDue();
        long now = start + age.toNanos();
        polls.due(unused, now);
        polls.unchanged(NAME, now);
        return Duration.ofNanos(polls.pauseNanos(now));
    }

    @Test
    void theFirstPollsOftenWhileTheHoldIsShort() {
        for (int millis : new int[] {0, 10, 60, 70}) {
            assertThat(pause(polls(false), 0, Duration.ofMillis(millis)))
                    .as("after %d ms", millis)
                    .isBetween(Duration.ofMillis(2), Duration.ofMillis(5));
        }
        assertThat(pause(polls(false), 0, Duration.ofSeconds(1)))
                .isBetween(Duration.ofMillis(50), Duration.ofMillis(56));
        assertThat(pause(polls(false), 0, Duration.ofMinutes(1)))
                .isBetween(Duration.ofMillis(250), Duration.ofMillis(276));
    }

    @Test
    void theOthersPollByTheirPosition() {
        assertThat(pause(polls(false), 1, Duration.ZERO)).isBetween(Duration.ofMillis(250), Duration.ofMillis(276));
        assertThat(pause(polls(false), 3, Duration.ZERO)).isBetween(Duration.ofMillis(750), Duration.ofMillis(826));
        assertThat(pause(polls(false), 5_000, Duration.ofDays(1)))
                .isBetween(Duration.ofSeconds(1), Duration.ofMillis(1_101));
    }

    @Test
    void pollsAreRareBesidePushes() {
        assertThat(pause(polls(true), 0, Duration.ZERO)).isGreaterThanOrEqualTo(Duration.ofMillis(500));
        assertThat(pause(polls(true), 63, Duration.ZERO)).isGreaterThanOrEqualTo(Duration.ofSeconds(32));
    }

    /** What is not due is not read, and what is due is read once. */
    @Test
    void onlyWhatIsDueIsRead() {
        RowPolls polls = polls(false);
        LockName far = new LockName("far");
        polls.enqueued(NAME, 0, 0);
        polls.enqueued(far, 4, 0);
        long now = Duration.ofMillis(3).toNanos();
        assertThat(polls.due(unused, now)).containsExactly(NAME);
        assertThat(polls.due(unused, now)).isEmpty();
        polls.read(NAME, -1, true, now);
        assertThat(polls.pauseNanos(now)).isGreaterThan(Duration.ofMillis(250).toNanos());
        assertThat(polls.due(unused, Duration.ofSeconds(2).toNanos())).containsExactly(far);
    }

    /**
     * One statement reads the rows of many names. Before, each name had its own moment, so that a client that was first in the queues
     * of 50 long holds made some 200 to 1,000 statements a second.
     */
    @ParameterizedTest
    @CsvSource({"50, 2, 90", "50, 60, 90", "500, 60, 90"})
    void aClientThatWaitsForManyNamesReadsThemTogether(int names, int age, int mostEachSecond) {
        RowPolls polls = polls(false);
        for (int i = 0; i < names; i++) {
            polls.enqueued(
                    new LockName("name-" + i),
                    0,
                    -random.nextLong(Duration.ofSeconds(age).toNanos()));
        }
        long now = Duration.ofSeconds(age).toNanos();
        long end = now + Duration.ofSeconds(10).toNanos();
        int statements = 0;
        int reads = 0;
        while (now < end) {
            List<LockName> due = List.copyOf(polls.due(unused, now));
            statements += due.isEmpty() ? 0 : 1;
            reads += due.size();
            for (LockName name : due) {
                polls.unchanged(name, now);
            }
            now += Math.max(polls.pauseNanos(now), STATEMENT_NANOS);
        }
        assertThat(statements).as("statements in 10 s").isLessThan(10 * mostEachSecond);
        assertThat(reads).as("rows read in 10 s").isGreaterThan(10 * 3 * names);
    }

    /**
     * With fair locks each thread of a client has a claim of its own. Before, each that came put off the poll of those that waited
     * already, for ever if they came often enough.
     */
    @ParameterizedTest
    @CsvSource({"false, 1, 20", "true, 100, 1000"})
    void claimsThatJoinDoNotPutOffThePollOfThoseBefore(boolean pushed, long everyMillis, long withinMillis) {
        RowPolls polls = polls(pushed);
        polls.enqueued(NAME, 0, 0);
        for (long millis = everyMillis; millis <= withinMillis; millis += everyMillis) {
            long now = TimeUnit.MILLISECONDS.toNanos(millis);
            polls.enqueued(NAME, (int) (millis / everyMillis), now);
            if (!polls.due(unused, now).isEmpty()) {
                return;
            }
        }
        fail("No poll within " + withinMillis + " ms");
    }

    /**
     * Each client asks again as soon as it has released. Before, 64 clients made 7 polls for each of some 60 grants in a second: each
     * expected the queue to be as slow as it had been, which was slow because all slept.
     */
    @ParameterizedTest
    @CsvSource({"2, 200, 2, 300", "4, 1000, 4, 200", "64, 200, 6, 150", "64, 5000, 7, 90"})
    void pollsForEachGrantAndGrantsInASecond(int clients, long holdMicros, int mostPolls, int leastGrants) {
        Simulation simulation = new Simulation(clients, client -> TimeUnit.MICROSECONDS.toNanos(holdMicros));
        simulation.run(3_000);
        assertThat(simulation.polls / 3_000.0).as("polls for each grant").isLessThan(mostPolls);
        assertThat(3_000 * 1e9 / simulation.now).as("grants in a second").isGreaterThan(leastGrants);
        assertThat((double) simulation.mostTurns())
                .as("the busiest by the laziest")
                .isLessThanOrEqualTo(1.5 * simulation.leastTurns());
    }

    /** Nobody can foresee a queue whose holds vary. Then the lock must not be idle for longer than before. */
    @ParameterizedTest
    @CsvSource({"64, 5, 12, 75", "64, 20, 18, 28"})
    void holdsThatVary(int clients, int meanMillis, int mostPolls, int leastGrants) {
        double mean = TimeUnit.MILLISECONDS.toNanos(meanMillis);
        Simulation simulation =
                new Simulation(clients, client -> Math.round(-mean * Math.log(1 - random.nextDouble())));
        simulation.run(2_000);
        assertThat(simulation.polls / 2_000.0).as("polls for each grant").isLessThan(mostPolls);
        assertThat(2_000 * 1e9 / simulation.now).as("grants in a second").isGreaterThan(leastGrants);
    }

    /** A client whose own holds are long must not take those before it for the same, and sleep through its turn. */
    @Test
    void holdsOfOthersAreNotTakenForOnesOwn() {
        long[] holds = {TimeUnit.MILLISECONDS.toNanos(1), TimeUnit.MILLISECONDS.toNanos(300)};
        Simulation simulation = new Simulation(8, client -> holds[client % 2]);
        simulation.run(400);
        assertThat(400 * 1e9 / simulation.now).as("grants in a second").isGreaterThan(4);
    }

    /** Clients with one lock, whose release makes the first in the queue the holder. */
    private final class Simulation {

        private record Event(long at, int client, boolean release) {}

        private final IntToLongFunction hold;
        private final long[] noticed;
        private final int[] turns;
        private final List<RowPolls> schedules = new ArrayList<>();
        private final List<Integer> queue = new ArrayList<>();
        private final PriorityQueue<Event> events = new PriorityQueue<>(Comparator.comparingLong(Event::at));
        private int holder;
        private long now;
        private long polls;

        Simulation(int clients, IntToLongFunction hold) {
            this.hold = hold;
            this.noticed = new long[clients];
            this.turns = new int[clients];
            for (int i = 0; i < clients; i++) {
                schedules.add(polls(false));
            }
            for (int i = 1; i < clients; i++) {
                enqueue(i);
            }
            release(0);
        }

        private void enqueue(int client) {
            queue.add(client);
            schedules.get(client).enqueued(NAME, queue.size() - 1, now);
            pollLater(client);
        }

        private void pollLater(int client) {
            events.add(new Event(now + schedules.get(client).pauseNanos(now) + STATEMENT_NANOS, client, false));
        }

        int mostTurns() {
            return Arrays.stream(turns).max().orElseThrow();
        }

        int leastTurns() {
            return Arrays.stream(turns).min().orElseThrow();
        }

        private void release(int client) {
            holder = client;
            noticed[client] = now - STATEMENT_NANOS; // when the read began
            turns[client]++;
            events.add(new Event(now + hold.applyAsLong(client), client, true));
        }

        void run(int grants) {
            for (int granted = 0; granted < grants; ) {
                Event event = events.remove();
                now = event.at();
                if (event.release()) {
                    granted++;
                    schedules.get(event.client()).held(NAME, now - noticed[event.client()]);
                    holder = queue.remove(0);
                    enqueue(event.client());
                } else if (!schedules.get(event.client()).due(unused, now).isEmpty()) {
                    poll(event.client());
                }
            }
        }

        private void poll(int client) {
            polls++;
            if (holder == client) {
                schedules.get(client).read(NAME, -1, true, now);
                release(client);
            } else {
                schedules.get(client).read(NAME, queue.indexOf(client), false, now);
                pollLater(client);
            }
        }
    }
}
