package dev.holdfast.spring.locked;

/** What is done at the start about a call of a locked method on its own object, which passes no proxy. */
public enum OnSelfCall {
    /** It is logged. */
    WARN,
    /** The application does not start. */
    FAIL,
    /** The classes are not looked at. */
    IGNORE
}
