package dev.holdfast.testkit.law;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Holdfast;
import dev.holdfast.election.Candidate;
import dev.holdfast.election.Election;
import dev.holdfast.election.ElectionOptions;
import dev.holdfast.election.Term;
import dev.holdfast.spi.LockStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/**
 * Tests of elections, with the real engine and two clients on two handles of the store. What the engine adds is tested elsewhere;
 * this shows that grants, places, labels and their renewal in the store are what it needs.
 */
abstract class ElectionContract extends ConditionContract {

    private static final Duration OBSERVE_EVERY = Duration.ofMillis(20);

    private final List<Holdfast> electors = new ArrayList<>();

    @AfterEach
    final void closeElectors() {
        electors.forEach(Holdfast::close);
    }

    private List<Holdfast> twoElectors() {
        LockStore other = openAnother(clock()).orElse(null);
        if (other != null) {
            closeLater(other);
        }
        electors.add(Holdfast.over(store()));
        electors.add(Holdfast.over(other == null ? store() : other));
        return electors;
    }

    private static ElectionOptions options(String id) {
        return ElectionOptions.defaults().withId(id).withObserveEvery(OBSERVE_EVERY);
    }

    private Term awaitTerm(Election election) {
        await(election::isLeader, () -> election + " was not elected");
        return election.term().orElseThrow();
    }

    private void awaitCandidates(Election asked, String... ids) {
        if (traits().fifo()) {
            await(() -> ids(asked).equals(List.of(ids)), () -> List.of(ids) + " do not take part, but " + ids(asked));
        }
    }

    private static List<String> ids(Election asked) {
        return asked.candidates().stream().map(Candidate::id).toList();
    }

    @Test
    public final void candidatesOfTwoClientsLeadInTurnAndSeeEachOther() {
        List<Holdfast> clients = twoElectors();
        String name = name().value();
        List<String> seen = new CopyOnWriteArrayList<>();
        List<Long> tokens = new CopyOnWriteArrayList<>();
        clients.get(1).election(name, options("observer")).observe(leader -> {
            seen.add(leader.map(one -> one.id() + ' ' + one.payload()).orElse("nobody"));
            leader.ifPresent(one -> tokens.add(one.token()));
        });
        Election first = clients.get(0).election(name, options("first").withPayload("10.0.0.7:80"));
        first.start();
        Term term = awaitTerm(first);
        Election second = clients.get(1).election(name, options("zweite-Käthe"));
        second.start();
        awaitCandidates(first, "first", "zweite-Käthe");
        assertThat(second.isLeader()).isFalse();
        // A server that follows another one may be behind it.
        await(
                () -> second.leader().map(Candidate::token).equals(Optional.of(term.token())),
                () -> "the leader was not read: " + second.leader());
        await(() -> seen.contains("first 10.0.0.7:80"), () -> "the leader was not observed: " + seen);
        first.proclaim("10.0.0.8:80 of zone β");
        await(
                () -> second.leader().orElseThrow().payload().equals("10.0.0.8:80 of zone β"),
                () -> "the payload was not read: " + second.leader());
        await(() -> seen.contains("first 10.0.0.8:80 of zone β"), () -> "the payload was not observed: " + seen);

        first.resign();
        assertThat(term.isValid()).isFalse();
        if (traits().fifo()) {
            awaitTerm(second);
            awaitCandidates(first, "zweite-Käthe", "first");
        } else {
            // Whoever asks first is elected.
            await(() -> first.isLeader() || second.isLeader(), () -> "nobody was elected");
            first.close();
        }
        assertThat(awaitTerm(second).token()).isGreaterThan(term.token());
        assertThat(first.isLeader()).isFalse();
        await(() -> seen.contains("zweite-Käthe "), () -> "the other leader was not observed: " + seen);
        assertThat(tokens).isSorted();
        second.close();
        assertThat(ids(second)).doesNotContain("zweite-Käthe");
    }

    @Test
    public final void whoIsNotReadyWhenElectedGivesItsTermBack() {
        List<Holdfast> clients = twoElectors();
        String name = name().value();
        AtomicInteger asked = new AtomicInteger();
        Election ready = clients.get(1).election(name, options("ready"));
        Election unready =
                clients.get(0).election(name, options("unready").withReady(() -> asked.incrementAndGet() == 1));
        unready.start();
        await(() -> asked.get() >= 2, () -> "the gate was not asked by the one who was elected");
        ready.start();
        awaitTerm(ready);
        assertThat(unready.isLeader()).isFalse();
    }
}
