package dev.holdfast.engine.simulation;

import dev.holdfast.spi.ResourceState;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The elections of a simulation: who stands in them, comes and leaves; and in the end somebody leads wherever one stands. */
final class SimulatedElections {

    private static final int MOST_OF_A_PROCESS = 3;
    private static final int STANDS_ONCE_IN = 4;
    private static final int RESIGNS_ONCE_IN = 8;
    private static final int LEAVES_ONCE_IN = 12;
    private static final int LEAVES_UNSEEN_ONCE_IN = 100;

    private final World world;
    private final Chance chance;
    private final ThreadUser.Host host;
    private final SharedName own = new SharedName("election");
    /** In which nothing goes wrong from the beginning, so that what has left must be gone at once. */
    private final SharedName last = new SharedName("last election");

    private final List<SharedName> names;
    /** Who has not left. */
    private final List<SimulatedCandidate> candidates = new ArrayList<>();
    /** Who has left, and is not over. */
    private final List<SimulatedCandidate> leaving = new ArrayList<>();

    private final List<SimulatedCandidate> standInLast = new ArrayList<>();
    private boolean isLast;
    private int stood;
    private long terms;

    /** @param mutex a lock whose name is elected for, too, in half of the worlds */
    SimulatedElections(World world, ThreadUser.Host host, SharedName mutex) {
        this.world = world;
        this.chance = world.chance();
        this.host = host;
        this.names = chance.once(2) ? List.of(own) : List.of(own, mutex);
    }

    /** The names that are of no lock. */
    List<SharedName> ownNames() {
        return List.of(own, last);
    }

    /** How often somebody was elected. */
    long terms() {
        return terms;
    }

    /** Somebody of a process does something. */
    void act(SimulatedProcess process) {
        List<SimulatedCandidate> here = candidates.stream()
                .filter(candidate -> candidate.process() == process)
                .toList();
        if (here.isEmpty() || (here.size() < MOST_OF_A_PROCESS && chance.once(STANDS_ONCE_IN))) {
            stand(process, chance.of(names));
            return;
        }
        SimulatedCandidate one = chance.of(here);
        if (chance.once(RESIGNS_ONCE_IN)) {
            one.resign();
        } else if (chance.once(LEAVES_ONCE_IN)) {
            one.leave();
        } else {
            one.act();
        }
    }

    private void stand(SimulatedProcess process, SharedName name) {
        candidates.add(new SimulatedCandidate(world, host, this, process, name, "candidate" + stood++));
    }

    void left(SimulatedCandidate candidate) {
        candidates.remove(candidate);
        leaving.add(candidate);
    }

    void elected(SimulatedCandidate leader) {
        terms++;
        candidates.forEach(other -> requireHandedOver(other, leader));
        leaving.forEach(other -> requireHandedOver(other, leader));
    }

    private static void requireHandedOver(SimulatedCandidate other, SimulatedCandidate leader) {
        if (other != leader && other.name() == leader.name()) {
            other.requireHandedOver(leader);
        }
    }

    /** A process has died, or has closed its client, which must end all that it has here. */
    void gone(SimulatedProcess process) {
        for (SimulatedCandidate candidate : List.copyOf(candidates)) {
            if (candidate.process() == process && !process.dead) {
                candidate.clientIsClosed();
                left(candidate);
            }
        }
        candidates.removeIf(candidate -> candidate.process().dead);
        leaving.removeIf(candidate -> candidate.process().dead);
    }

    void check() {
        candidates.forEach(SimulatedCandidate::check);
        leaving.removeIf(candidate -> {
            candidate.check();
            boolean over = candidate.isOver();
            if (over) {
                candidate.endThreads();
            }
            return over;
        });
        if (isLast) {
            state().ifPresent(this::requireReleased);
        }
    }

    // Who has left has had all the answers to its requests, since nothing goes wrong.
    private void requireReleased(ResourceState state) {
        for (ResourceState.Entry holder : state.holders()) {
            String label = holder.claim().owner().label();
            if (standInLast.stream().anyMatch(one -> one.hasLeft() && one.isCalled(label))) {
                throw new AssertionError(label + " has left, but holds the lock of " + last);
            }
        }
    }

    /** In clear weather: wherever somebody stands, somebody leads, which observers see. Then one resigns; and some time all leave. */
    void calmStep() {
        candidates.stream().filter(candidate -> !candidate.stands()).toList().forEach(SimulatedCandidate::leave);
        for (SimulatedCandidate leader :
                candidates.stream().filter(SimulatedCandidate::leads).toList()) {
            List<SimulatedCandidate> all = candidates.stream()
                    .filter(one -> one.name() == leader.name())
                    .toList();
            if (all.stream().allMatch(one -> one.sees(leader))) {
                if (chance.once(2)) {
                    leader.resign();
                } else {
                    leader.leave();
                }
            }
        }
        if (candidates.size() > 1 && chance.once(LEAVES_UNSEEN_ONCE_IN)) {
            chance.of(candidates).leave();
        }
    }

    /** Once more all processes stand, now that nothing goes wrong any more; false if they did before. */
    boolean beginLast(List<SimulatedProcess> processes) {
        if (!isLast) {
            isLast = true;
            for (int i = 0; i < MOST_OF_A_PROCESS; i++) {
                processes.forEach(process -> stand(process, last));
            }
            standInLast.addAll(candidates);
            return true;
        }
        return false;
    }

    private Optional<ResourceState> state() {
        return world.store()
                .inspect(last.lockName())
                .toCompletableFuture()
                .join()
                .filter(ResourceState::isInUse);
    }

    /** Whether nobody stands, and nothing goes on of those who did. */
    boolean areOver() {
        return candidates.isEmpty() && leaving.isEmpty();
    }

    /** All that was sent has arrived. */
    void requireNothingIsLeft() {
        if (state().isPresent()) {
            throw new AssertionError("All have left, but the store has still " + state());
        }
    }

    @Override
    public String toString() {
        return candidates + " who stand, and " + leaving + " who have left";
    }
}
