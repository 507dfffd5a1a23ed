package dev.holdfast;

import dev.holdfast.internal.Engine;

/** Gives tests the engine of a client, which its users do not see. */
public final class Engines {

    private Engines() {}

    /** The engine of this client. */
    public static Engine of(Holdfast client) {
        return client.engine();
    }
}
