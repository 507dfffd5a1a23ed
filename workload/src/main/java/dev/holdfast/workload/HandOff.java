package dev.holdfast.workload;

import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A lock that goes from one process to another: the giver holds it, sees that the taker asks, waits for a moment,
 * and releases. The taker reports how long it took from the call of release to the return of its own acquisition;
 * both read the machine's monotonic clock. They take turns by signals in the {@link Guard}, outside of what is
 * measured.
 */
class HandOff {

    private static final int TURN = 0;
    static final int ASKED = 1;
    private static final int RELEASED_AT = 2;
    private static final int TAKEN = 3;
    private static final int STOPPED = 4;
    private static final int SIGNALS_OF_A_PAIR = 5;

    /** How many pairs there may be at once. */
    static final int MOST_PAIRS = Guard.SIGNALS / SIGNALS_OF_A_PAIR;

    private static final long POLL_NANOS = 100_000;
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(40);
    /** Spreads the release over the taker's polling rhythm, if it has one. */
    private static final long SPREAD_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    /** After this time the taker is waiting, even if its server is some milliseconds away. */
    private static final long SETTLED_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    final Section section;
    private final Guard guard;
    private final Fields order;
    private final int pair;

    HandOff(Section section, Guard guard, Fields order) {
        this.pair = (int) order.whole("pair");
        this.section = section;
        this.guard = guard;
        this.order = order;
    }

    /** The lock of an order's pair. */
    static String name(Fields order) {
        return order.text("prefix") + "hand-off-" + order.whole("pair");
    }

    final Fields run() throws Exception {
        // The pairs start one after the other, so that they are not all busy at the same moments.
        Loop.parkUntil(order.whole("startAt") + pair * (order.whole("waitNanos") / MOST_PAIRS));
        return order.text("role").equals("giver") ? give() : take();
    }

    /** What the giver does before the taker's turn. */
    void prepare() throws Exception {
        section.enter();
    }

    /** What the giver does when the taker waits. */
    void handOver() throws Exception {
        begin();
        section.leave();
    }

    /** What the taker does: it says that it asks, and waits. */
    void takeOver(long turn) throws Exception {
        ask(turn);
        section.enter();
    }

    /** What is measured begins now. */
    final void begin() {
        signal(RELEASED_AT, System.nanoTime());
    }

    final void ask(long turn) {
        signal(ASKED, turn);
    }

    private Fields give() throws Exception {
        SplittableRandom random = new SplittableRandom(order.whole("seed"));
        long deadline = order.whole("startAt") + order.whole("nanos");
        long turns = 0;
        try {
            while (System.nanoTime() - deadline < 0) {
                turns++;
                prepare();
                signal(TURN, turns);
                await(ASKED, turns);
                long waits = SETTLED_NANOS + order.whole("waitNanos") + random.nextLong(SPREAD_NANOS);
                Loop.parkUntil(System.nanoTime() + waits);
                handOver();
                await(TAKEN, turns);
            }
        } finally {
            signal(STOPPED, 1);
        }
        return new Fields().with("turns", turns);
    }

    private Fields take() throws Exception {
        Histogram waits = new Histogram();
        for (long turn = 1; await(TURN, turn); turn++) {
            takeOver(turn);
            long got = System.nanoTime();
            waits.add(got - signal(RELEASED_AT));
            section.leave();
            signal(TAKEN, turn);
        }
        return new Fields().with("waits", waits.toList()).with("counts", java.util.List.of(waits.count()));
    }

    private void signal(int signal, long value) {
        guard.signal(pair * SIGNALS_OF_A_PAIR + signal, value);
    }

    private long signal(int signal) {
        return guard.signal(pair * SIGNALS_OF_A_PAIR + signal);
    }

    /** @return false if the giver has stopped */
    private boolean await(int signal, long value) {
        long begun = System.nanoTime();
        while (signal(signal) < value) {
            if (signal == TURN && signal(STOPPED) == 1) {
                return false;
            }
            if (System.nanoTime() - begun > PATIENCE_NANOS + order.whole("waitNanos")) {
                throw new IllegalStateException("The other worker did not take its turn " + value);
            }
            LockSupport.parkNanos(POLL_NANOS);
        }
        return true;
    }
}
