package dev.holdfast.quorum;

/** The laws, over five stores in memory. */
class FiveNodesTest extends ThreeNodesTest {

    @Override
    int nodes() {
        return 5;
    }
}
