package dev.holdfast.redis.plain;

import dev.holdfast.redis.client.Script;

/** The scripts for one form of an exclusive lock. */
record PlainScripts(Script acquire, Script renew, Script release, Script inspect, Script list) {

    /** The lock is the string of {@code SET NX PX}. */
    static final PlainScripts OF_STRINGS = new PlainScripts(
            Script.STRING_ACQUIRE,
            Script.STRING_RENEW,
            Script.STRING_RELEASE,
            Script.STRING_INSPECT,
            Script.STRING_LIST);

    /** The lock is the hash of Redisson's {@code RLock}. */
    static final PlainScripts OF_HASHES = new PlainScripts(
            Script.HASH_ACQUIRE, Script.HASH_RENEW, Script.HASH_RELEASE, Script.HASH_INSPECT, Script.HASH_LIST);
}
