package dev.holdfast.redis.plain;

import dev.holdfast.redis.client.Script;

/** The scripts for one form of an exclusive lock. */
record PlainScripts(Script acquire, Script renew, Script release, Script inspect, Script list) {

    /** The lock is the string of {@code SET NX PX}. */
    static final PlainScripts OF_STRINGS = of("string");

    /** The lock is the hash of Redisson's {@code RLock}. */
    static final PlainScripts OF_HASHES = of("hash");

    /** The lock is the time stamp of {@code SETNX} and {@code GETSET}. */
    static final PlainScripts OF_STAMPS = of("stamp");

    /** Finds the time stamps of ours that other programs have overwritten. */
    static final Script LIST_HELD = new Script("plain-list-held", "stamp");

    private static PlainScripts of(String form) {
        return new PlainScripts(
                new Script("plain-acquire", form),
                new Script("plain-renew", form),
                new Script("plain-release", form),
                new Script("plain-inspect", form),
                new Script("plain-list", form));
    }
}
