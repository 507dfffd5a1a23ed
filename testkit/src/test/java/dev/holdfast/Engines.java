package dev.holdfast;

import dev.holdfast.internal.Engine;
import dev.holdfast.internal.time.Simulator;

/** Gives tests access to the engine of a client, which users of the client do not see. */
public final class Engines {

    private Engines() {}

    /** A client whose work is done by a simulator instead of threads. */
    public static Holdfast simulated(Holdfast.Builder settings, Simulator simulator) {
        return settings.simulator(simulator).connect();
    }

    /** The engine of this client. */
    public static Engine of(Holdfast client) {
        return client.engine();
    }
}
