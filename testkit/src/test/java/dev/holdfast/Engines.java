package dev.holdfast;

import dev.holdfast.internal.Engine;

/** Gives tests access to the engine of a client, which users of the client do not see. */
public final class Engines {

    private Engines() {}

    /** The engine of this client. */
    public static Engine of(Holdfast client) {
        return client.engine();
    }
}
