package dev.holdfast.redis.client;

import java.nio.charset.StandardCharsets;

/**
 * The hash slots of a cluster: CRC-16/XMODEM of the key, or of what stands between its first braces, modulo 16,384. As in the
 * Redis Cluster specification.
 */
public final class HashSlot {

    /** How many there are. */
    public static final int COUNT = 16_384;

    private static final int POLYNOMIAL = 0x1021;
    private static final int BITS = 0xffff;

    private HashSlot() {}

    /** The slot of a key or of a sharded channel. */
    public static int of(byte[] key) {
        int open = indexOf(key, '{', 0);
        int close = open < 0 ? -1 : indexOf(key, '}', open + 1);
        return close > open + 1 ? crc(key, open + 1, close) : crc(key, 0, key.length);
    }

    /** A short text that is in a slot: what a channel must have between braces to be in it. */
    public static String tag(int slot) {
        // One of 16,384 texts fits, so this takes a millisecond, once for each slot in which somebody waits.
        for (int i = 0; ; i++) {
            String text = Integer.toString(i, Character.MAX_RADIX);
            if (of(text.getBytes(StandardCharsets.US_ASCII)) == slot) {
                return text;
            }
        }
    }

    private static int indexOf(byte[] key, char wanted, int from) {
        for (int i = from; i < key.length; i++) {
            if (key[i] == wanted) {
                return i;
            }
        }
        return -1;
    }

    private static int crc(byte[] key, int from, int to) {
        int crc = 0;
        for (int i = from; i < to; i++) {
            crc ^= (key[i] & 0xff) << 8;
            for (int bit = 0; bit < 8; bit++) {
                crc = (crc & 0x8000) == 0 ? crc << 1 : crc << 1 ^ POLYNOMIAL;
            }
            crc &= BITS;
        }
        return crc % COUNT;
    }
}
