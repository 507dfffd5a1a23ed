package dev.holdfast.testkit.model;

/**
 * The store under test and the model have given different answers. Unlike a missing answer, this can be a result of
 * bad timing.
 */
final class Difference extends AssertionError {

    private static final long serialVersionUID = 1;

    Difference(String message) {
        super(message);
    }
}
