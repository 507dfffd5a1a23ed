package dev.holdfast.engine;

import dev.holdfast.Holdfast;
import dev.holdfast.election.Election;
import dev.holdfast.election.ElectionOptions;
import dev.holdfast.election.Term;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** A candidate that writes down what it is notified of. */
final class Standing {

    /** The lease of all candidates in tests. */
    static final Duration LEASE = Duration.ofSeconds(15);

    final Election election;
    final List<String> events = new CopyOnWriteArrayList<>();
    final List<Term> terms = new CopyOnWriteArrayList<>();

    Standing(Holdfast client, String name, String id) {
        this(client, name, ElectionOptions.defaults().withId(id));
    }

    Standing(Holdfast client, String name, ElectionOptions options) {
        election = client.election(name, options.withLease(LEASE));
        election.onElected(term -> {
            terms.add(term);
            events.add("elected");
        });
        election.onLost(reason -> events.add(reason.toString()));
        election.onFailure(failure -> events.add(failure.getClass().getSimpleName()));
    }

    Standing start() {
        election.start();
        return this;
    }

    boolean leads() {
        return election.isLeader();
    }

    Term lastTerm() {
        return terms.get(terms.size() - 1);
    }

    /** Whether the last of the events is this one. */
    boolean has(String event) {
        return !events.isEmpty() && events.get(events.size() - 1).equals(event);
    }
}
