package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.holdfast.Holdfast;
import dev.holdfast.LossReason;
import dev.holdfast.election.Election;
import dev.holdfast.election.ElectionOptions;
import dev.holdfast.election.Term;
import dev.holdfast.spi.LockName;
import dev.holdfast.testkit.Seeds;
import dev.holdfast.testkit.fault.Fault;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Five candidates of three clients, at random: they resign, leave, are cut off, wait for their callbacks, and lose
 * requests and replies. No two terms are ever valid at once, tokens never fall, and each candidate learns of elections
 * and losses in turn.
 */
class ElectionStormTest extends EngineFixture {

    private static final int STEPS = 1_500;
    private static final long BREATH_NANOS = 200_000;
    private static final double FAULTS = 0.05;
    private static final Duration MOST_STEP = Duration.ofSeconds(2);

    /** Terms of all candidates, in the order in which they were seen. */
    private final Queue<Term> terms = new ConcurrentLinkedQueue<>();

    private final List<Member> members = new ArrayList<>();

    /** While this thread has the write lock, the callbacks of one client wait, so that what it wins goes back in the end. */
    private final ReentrantReadWriteLock stall = new ReentrantReadWriteLock();

    /** A candidate, and what each of its elections has notified it of: those of two may come in any order. */
    private final class Member {
        private final Holdfast client;
        private final List<Queue<String>> events = new ArrayList<>();
        private Election election;

        private Member(Holdfast client) {
            this.client = client;
            this.election = stand();
        }

        private Election stand() {
            Election made = client.election(
                    "storm",
                    ElectionOptions.defaults().withLease(Standing.LEASE).withStoreTimeout(Duration.ofSeconds(3)));
            Queue<String> ofThisOne = new ConcurrentLinkedQueue<>();
            events.add(ofThisOne);
            made.onElected(term -> {
                terms.add(term);
                ofThisOne.add("elected " + term.token());
            });
            made.onLost(reason -> ofThisOne.add("lost " + reason));
            made.start();
            return made;
        }

        private void replace() {
            // Off this thread, which must let time pass for the close.
            Election old = election;
            a.begin(old::close);
            election = stand();
        }
    }

    @Test
    void thereIsNeverMoreThanOneLeader() {
        long seed = Seeds.of("election storm");
        Random random = new Random(seed);
        ExecutorService threads = Executors.newCachedThreadPool();
        Holdfast other = client(Holdfast.builder()
                .store(network)
                .callbacks(callback -> threads.execute(() -> {
                    stall.readLock().lock();
                    stall.readLock().unlock();
                    callback.run();
                })));
        Stream.of(locks, locks, other, rival, rival).forEach(client -> members.add(new Member(client)));
        network.randomly(seed, FAULTS, Fault.REFUSE, Fault.DROP_REQUEST, Fault.DROP_REPLY, Fault.DUPLICATE);
        for (int step = 0; step < STEPS; step++) {
            act(random);
            clock.advance(Duration.ofNanos((long) (random.nextDouble() * MOST_STEP.toNanos())));
            if (random.nextInt(4) > 0) {
                clock.settle();
            }
            // For callbacks, which are not waited for.
            LockSupport.parkNanos(BREATH_NANOS);
            check();
        }
        network.randomly(0, 0);
        network.heal();
        stall(false);
        int before = terms.size();
        members.forEach(member -> member.election.resign());
        clock.advanceUntil("there is a leader again", Duration.ofMillis(200), () -> {
            check();
            return terms.size() > before && members.stream().anyMatch(member -> member.election.isLeader());
        });
        members.forEach(member -> a.begin(member.election::close));
        clock.advanceUntil("all have left", Duration.ofMillis(200), () -> a.isBetweenActions() && isUnused("storm"));
        List<Term> all = new ArrayList<>(terms);
        System.out.println("Election storm: " + all.size() + " terms, seed " + seed);
        assertThat(all.size()).as("terms").isGreaterThan(STEPS / 100);
        members.forEach(member -> member.events.forEach(ElectionStormTest::assertTurns));
        threads.shutdown();
    }

    private void stall(boolean now) {
        if (now && !stall.isWriteLocked()) {
            stall.writeLock().lock();
        } else if (!now && stall.isWriteLocked()) {
            stall.writeLock().unlock();
        }
    }

    /** A holder does not know at once that his lock was broken: the one case of two terms, by which the check itself is checked. */
    @Test
    void theCheckSeesTwoLeaders() {
        members.add(new Member(locks));
        members.add(new Member(rival));
        clock.advanceUntil(
                "there is a leader, and one who waits", MOST_STEP, () -> terms.size() == 1 && waiters("storm") == 1);
        LockName name = new LockName("storm");
        memory.inspect(name)
                .thenCompose(state -> memory.release(
                        state.orElseThrow().holders().get(0).claim().again()))
                .toCompletableFuture()
                .join();
        Wait.until("there are two", () -> members.stream().allMatch(member -> member.election.isLeader()));
        assertThatExceptionOfType(AssertionError.class)
                .isThrownBy(this::check)
                .withMessageContaining("Two terms at once");
    }

    private void act(Random random) {
        Member one = members.get(random.nextInt(members.size()));
        switch (random.nextInt(12)) {
            case 0, 1 -> one.election.resign();
            case 2 -> one.replace();
            case 4 -> network.partition();
            case 5, 6, 7 -> network.heal();
            case 9 -> stall(true);
            case 10 -> stall(false);
            case 8 -> a.begin(() -> one.election.proclaim("step " + random.nextInt(100)));
            default -> {}
        }
    }

    // A term that has ended is over for good. So one that is valid before and after another was valid beside it.
    private void check() {
        List<Term> valid = members.stream()
                .flatMap(member -> member.election.term().stream())
                .collect(Collectors.toList());
        for (Term one : valid) {
            for (Term another : valid) {
                if (one != another && one.isValid() && another.isValid() && one.isValid()) {
                    throw new AssertionError("Two terms at once: " + one + ", " + another);
                }
            }
            for (Term another : terms) {
                assertThat(another.isValid() && another.token() < one.token() && one.isValid() && another.isValid())
                        .as("%s beside %s", another, one)
                        .isFalse();
            }
        }
    }

    private static void assertTurns(Queue<String> events) {
        long token = 0;
        boolean leads = false;
        for (String event : events) {
            String[] words = event.split(" ");
            if (words[0].equals("elected")) {
                assertThat(Long.parseLong(words[1])).isGreaterThan(token);
                token = Long.parseLong(words[1]);
            } else {
                LossReason.valueOf(words[1]);
            }
            assertThat(words[0].equals("elected")).as(event).isNotEqualTo(leads);
            leads = !leads;
        }
        assertThat(leads).isFalse();
    }
}
