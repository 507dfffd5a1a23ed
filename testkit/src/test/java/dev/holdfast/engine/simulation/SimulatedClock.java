package dev.holdfast.engine.simulation;

import dev.holdfast.spi.MonotonicClock;

/** The clock of one machine in a world: it runs at a rate of its own, and its wall clock can be stepped. */
final class SimulatedClock implements MonotonicClock {

    private static final long SOME_DAY_MICROS = 1_767_225_600_000_000L;
    private static final long MILLION = 1_000_000;
    private static final long ROUNDING = 3;

    private final World world;
    private final long origin;
    private final long tooFastPpm;
    private long wallStep;

    /**
     * @param origin what it shows when the world begins
     * @param tooFastPpm by how many millionths it runs too fast; negative if it runs too slow
     */
    SimulatedClock(World world, long origin, long tooFastPpm) {
        this.world = world;
        this.origin = origin;
        this.tooFastPpm = tooFastPpm;
    }

    @Override
    public long nanoTime() {
        return origin + world.now() + Math.multiplyExact(world.now(), tooFastPpm) / MILLION;
    }

    /** For how long this clock takes so many nanoseconds, by the true time; or a few more. */
    long trueTimeFor(long nanos) {
        return nanos - Math.multiplyExact(nanos, tooFastPpm) / (MILLION + tooFastPpm) + ROUNDING;
    }

    @Override
    public long epochMicros() {
        return SOME_DAY_MICROS + world.now() / 1_000 + wallStep;
    }

    void stepWallClock(long micros) {
        wallStep += micros;
    }

    @Override
    public void parkNanos(Object blocker, long nanos) {
        if (!(Thread.currentThread() instanceof SimulatedThread thread)) {
            AssertionError parked = new AssertionError("The thread of the world was to be parked");
            world.fail(parked);
            throw parked;
        }
        thread.park(blocker, trueTimeFor(nanos));
    }
}
