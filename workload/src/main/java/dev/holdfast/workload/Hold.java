package dev.holdfast.workload;

import java.util.ArrayList;
import java.util.List;

/**
 * Many locks held by one client. The orders come one after the other, so that the server's counters can be read between
 * them: {@code churn} locks and unlocks another name for a while, {@code take} acquires, {@code watch} lets time pass,
 * {@code drop} releases and counts what was lost. Used by one thread.
 */
final class Hold {

    private final Subject subject;
    private final List<Section> held = new ArrayList<>();

    Hold(Subject subject) {
        this.subject = subject;
    }

    Fields run(Fields order) throws Exception {
        return switch (order.text("step")) {
            case "churn" -> churn(order);
            case "take" -> take(order);
            case "watch" -> watch(order);
            case "drop" -> drop();
            default -> throw new IllegalArgumentException("There is no step " + order.text("step"));
        };
    }

    private Fields churn(Fields order) throws Exception {
        Section other = subject.mutex(order.text("prefix") + "churn");
        long deadline = System.nanoTime() + order.whole("nanos");
        long pairs = 0;
        while (System.nanoTime() - deadline < 0) {
            other.enter();
            other.leave();
            pairs++;
        }
        return new Fields().with("pairs", pairs);
    }

    private Fields take(Fields order) throws Exception {
        int count = (int) order.whole("locks");
        List<Section> sections = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            sections.add(subject.mutex(order.text("prefix") + "held-" + i));
        }
        // One more lock is taken first, so that the set-up at the first lock is not counted for the others.
        Section first = subject.mutex(order.text("prefix") + "held-first");
        first.enter();
        held.add(first);
        long before = ProcessCost.heapBytes();
        long begun = System.nanoTime();
        for (Section section : sections) {
            section.enter();
            held.add(section);
        }
        long nanos = System.nanoTime() - begun;
        return new Fields().with("takeNanos", nanos).with("heapBytes", ProcessCost.heapBytes() - before);
    }

    private static Fields watch(Fields order) {
        ProcessCost cost = new ProcessCost();
        long begun = System.nanoTime();
        Loop.parkUntil(begun + order.whole("nanos"));
        return cost.since().with("watchNanos", System.nanoTime() - begun);
    }

    private Fields drop() {
        long lost = 0;
        String why = "";
        for (Section section : held) {
            try {
                section.leave();
            } catch (Exception failed) {
                lost++;
                why = String.valueOf(failed);
            }
        }
        held.clear();
        Fields figures = new Fields().with("lost", lost);
        return lost == 0 ? figures : figures.with("why", why);
    }
}
