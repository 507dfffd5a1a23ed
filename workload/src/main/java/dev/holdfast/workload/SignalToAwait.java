package dev.holdfast.workload;

/**
 * A signal that goes from one process to another: the taker waits for a condition, and the giver takes the lock, signals and
 * releases it. The taker reports how long it took from the call of the signal to the return of its wait, when it has the lock: a
 * signal and a hand-off. The rest is as for {@link HandOff}.
 */
final class SignalToAwait extends HandOff {

    private final ConditionSection condition;

    SignalToAwait(Subject subject, Guard guard, Fields order) {
        this(subject.condition(name(order)), guard, order);
    }

    private SignalToAwait(ConditionSection condition, Guard guard, Fields order) {
        super(condition, guard, order);
        this.condition = condition;
    }

    @Override
    void prepare() {}

    @Override
    void handOver() throws Exception {
        condition.enter();
        begin();
        condition.signal();
        condition.leave();
    }

    @Override
    void takeOver(long turn) throws Exception {
        condition.enter();
        ask(turn);
        condition.await();
    }
}
