package dev.holdfast.redis.record;

import dev.holdfast.spi.LockName;

/** What keys look like that belong to names, for a search through all keys. */
public interface KeyPattern {

    /** A glob pattern that every key of a name with this beginning matches, and others may. */
    byte[] pattern(String nameBegins);

    /** Whether a key belongs to some name. */
    boolean isKey(byte[] key);

    /** The name to which a key belongs. */
    LockName name(byte[] key);
}
