package dev.holdfast.quorum;

/** The laws, over five real Redis servers. */
class FiveRedisNodesTest extends ThreeRedisNodesTest {

    @Override
    int nodes() {
        return 5;
    }

    @Override
    protected int modelOperations() {
        return 1_000;
    }
}
