package dev.holdfast.internal.time;

import java.util.List;

/** An entry that rings: it runs what it was made with. */
public final class Alarm extends Agenda.Entry {

    private final Runnable ring;

    /** @param ring must neither block nor do I/O nor run code of the user's */
    public Alarm(Runnable ring) {
        this.ring = ring;
    }

    /**
     * An agenda of alarms. One that fails, which none should, does not keep the others from being rung. When it is closed all
     * alarms are rung: what they end must not wait for ever.
     */
    public static Agenda<Alarm> agenda(String name, Uptime time) {
        return new Agenda<>(name, time, true, Alarm::ringAll).begin();
    }

    private static void ringAll(List<Alarm> due, long now) {
        for (Alarm alarm : due) {
            try {
                alarm.ring.run();
            } catch (Throwable failure) {
                Uncaught.report(failure);
            }
        }
    }
}
