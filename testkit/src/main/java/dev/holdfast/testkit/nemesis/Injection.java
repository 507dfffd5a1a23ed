package dev.holdfast.testkit.nemesis;

/** A kind of fault that the {@link Nemesis} injects. */
public enum Injection {
    /** SIGSTOP of the client that has just read the set under the lock, until another one has written. */
    FREEZE_HOLDER(Needs.NOTHING, 3),
    /** SIGSTOP of any client at any moment, for longer than its lease. */
    FREEZE_CLIENT(Needs.NOTHING, 2),
    /** SIGKILL of the client that has just read the set under the lock. */
    KILL_HOLDER(Needs.NOTHING, 1),
    /** SIGKILL of any client at any moment. */
    KILL_CLIENT(Needs.NOTHING, 1),
    /** A client cannot open files or connections for a time, and loses the connections that it has. */
    NO_HANDLES(Needs.NOTHING, 1),
    /** A client has no memory left for a time. */
    NO_MEMORY(Needs.A_WORD, 2),
    /** All connections of a client end. */
    BREAK_LINE(Needs.LINE, 3),
    /** Nothing passes between a client and the server for up to one and a half leases; then it all arrives, late. */
    BLACK_HOLE(Needs.LINE, 3),
    /** Each message between a client and the server is late. */
    DELAY(Needs.LINE, 2),
    /** Requests of a client arrive, and the answers are lost with the connections. */
    LOSE_REPLIES(Needs.LINE, 3),
    /** The system drops each packet between a client and the server for up to one and a half leases. */
    PARTITION(Needs.A_WORD, 3),
    /** SIGSTOP of the server, for up to one and a half leases. */
    FREEZE_SERVER(Needs.SERVER, 1),
    /** SIGKILL of the server, which is then started again. */
    KILL_SERVER(Needs.SERVER, 1),
    /** The session of the client that holds the lock is ended from outside, by its id. */
    END_SESSION(Needs.A_WORD, 2),
    /** The wall clock of the server is set forward by an hour. */
    CLOCK_FORWARD(Needs.A_WORD, 3),
    /** The wall clock of the server is set back by an hour for a time. */
    CLOCK_BACK(Needs.A_WORD, 3),
    /** The disk of the server is full for up to one and a half leases. */
    FULL_DISK(Needs.A_WORD, 3),
    /** The system drops each packet between the leader of a cluster and the rest; clients reach them all. */
    CUT_OFF_LEADER(Needs.A_WORD, 3),
    /** The system drops each packet between another server of a cluster and the rest; clients reach them all. */
    CUT_OFF_FOLLOWER(Needs.A_WORD, 3),
    /**
     * The system drops what the leader of a cluster sends to the rest: each packet, or, at random, all but
     * acknowledgements, with which the other direction goes on.
     */
    DROP_FROM_LEADER(Needs.A_WORD, 3),
    /** The same of what the rest sends to the leader. */
    DROP_TO_LEADER(Needs.A_WORD, 3),
    /** The same of what another server sends to the rest. */
    DROP_FROM_FOLLOWER(Needs.A_WORD, 3),
    /** The same of what the rest sends to another server. */
    DROP_TO_FOLLOWER(Needs.A_WORD, 3);

    /** What a scenario must have for a kind of fault. */
    enum Needs {
        NOTHING,
        /** A scenario that names it, or what it needs. */
        A_WORD,
        LINE,
        SERVER
    }

    private final Needs needs;
    private final int share;

    Injection(Needs needs, int share) {
        this.needs = needs;
        this.share = share;
    }

    Needs needs() {
        return needs;
    }

    /** How often it comes in a long run, beside the others. */
    int share() {
        return share;
    }
}
