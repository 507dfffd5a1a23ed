package dev.holdfast.redis.record;

import dev.holdfast.spi.LockName;

/** Describes the keys that belong to lock names, for a search through all keys. */
public interface KeyPattern {

    /** A glob pattern that matches the key of every name with this beginning; it may match other keys, too. */
    byte[] pattern(String nameBegins);

    /** Whether a key belongs to some name. */
    boolean isKey(byte[] key);

    /** The name to which a key belongs. */
    LockName name(byte[] key);
}
