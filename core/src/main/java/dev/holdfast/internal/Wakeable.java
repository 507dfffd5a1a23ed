package dev.holdfast.internal;

/** What a waiting thread is parked on: it tells whether the thread was woken and only has not run yet. */
public interface Wakeable {

    /** Whether somebody has woken the thread since it last looked around. May be called by any thread. */
    boolean isWoken();
}
