package dev.holdfast.memcached.client;

import org.jspecify.annotations.Nullable;

/**
 * The value of a key at one moment.
 *
 * @param value the value; null if the server has none
 * @param unique the number that the server gave to this value. It is larger than that of every value that the server
 *     process has stored before, under any key. 0 if there is no value
 */
@SuppressWarnings("ArrayRecordComponent") // it is never compared
public record Version(byte @Nullable [] value, long unique) {

    /** No value. */
    public static final Version ABSENT = new Version(null, 0);

    public boolean isAbsent() {
        return value == null;
    }
}
