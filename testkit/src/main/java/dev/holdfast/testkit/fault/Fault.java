package dev.holdfast.testkit.fault;

/** A fault that affects one request on its way to a store and back. */
public enum Fault {
    /** The request is not executed, and its sender gets a failure with effect NONE. */
    REFUSE,
    /** The request is not executed, and its sender gets a failure that says that it will never be. */
    REJECT,
    /** The request is not executed, but its sender cannot know this: it gets a failure with effect UNKNOWN. */
    DROP_REQUEST,
    /** The request is executed, but its sender cannot know this: it gets a failure with effect UNKNOWN. */
    DROP_REPLY,
    /** The request is executed twice; the second answer is passed on. */
    DUPLICATE,
    /** The request is executed after a delay, and then answered. Later requests overtake it. */
    DELAY,
    /** The request is executed and answered, and a copy is kept to be executed later, perhaps after a release. */
    LATE_COPY,
    /** The request is neither executed nor answered until the test lets it go. */
    HANG,
    /** The request is executed at once, but not answered until the test lets it go. */
    HANG_REPLY
}
