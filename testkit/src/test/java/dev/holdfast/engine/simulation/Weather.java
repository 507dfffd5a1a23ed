package dev.holdfast.engine.simulation;

/**
 * What the network does to messages.
 *
 * @param refused how many requests of a thousand fail surely without effect
 * @param requestLost how many do not reach the store
 * @param replyLost of how many the answer is lost
 * @param late how many reach the store long after their failure was reported
 * @param pushLost how many pushed notifications of a thousand are lost
 * @param delay the longest time that a message takes, in nanoseconds
 * @param pushDelay the longest time that a pushed notification takes
 */
record Weather(int refused, int requestLost, int replyLost, int late, int pushLost, long delay, long pushDelay) {

    static final long MILLI = 1_000_000;

    static final Weather CLEAR = new Weather(0, 0, 0, 0, 0, 2 * MILLI, 2 * MILLI);

    private static final Weather[] ALL = {
        CLEAR,
        new Weather(0, 0, 0, 0, 200, 4 * MILLI, 20 * MILLI),
        new Weather(20, 30, 30, 20, 100, 5 * MILLI, 50 * MILLI),
        new Weather(0, 0, 0, 0, 0, 150 * MILLI, 400 * MILLI),
        new Weather(10, 20, 20, 20, 300, 600 * MILLI, 3_000 * MILLI),
        new Weather(5, 10, 20, 20, 30, 100 * MILLI, 12_000 * MILLI),
        new Weather(5, 10, 20, 20, 100, 4_000 * MILLI, 8_000 * MILLI),
        new Weather(150, 150, 150, 100, 500, 40 * MILLI, 200 * MILLI),
    };

    static Weather any(Chance chance) {
        return ALL[chance.below(ALL.length)];
    }
}
