package dev.holdfast.internal.time;

/** What a waiting thread is parked on. Tests see by it whether the thread was woken and only has not run yet. */
public interface Wakeable {

    /** Whether somebody has woken the thread since it last looked. May be called by any thread. */
    boolean isWoken();
}
