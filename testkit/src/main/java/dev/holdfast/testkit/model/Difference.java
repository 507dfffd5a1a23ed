package dev.holdfast.testkit.model;

/** The store under test and the model have said different things; unlike silence, that may be a matter of time. */
final class Difference extends AssertionError {

    private static final long serialVersionUID = 1;

    Difference(String message) {
        super(message);
    }
}
