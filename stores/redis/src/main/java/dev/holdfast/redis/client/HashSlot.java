package dev.holdfast.redis.client;

import java.nio.charset.StandardCharsets;

/**
 * The hash slots of a cluster, as the Redis Cluster specification defines them: CRC-16/XMODEM of the key, or of the
 * text between its first braces, modulo 16,384.
 */
public final class HashSlot {

    /** How many hash slots a cluster has. */
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

    /** A short text that hashes to a slot. A channel is in that slot if it has this text between braces. */
    public static String tag(int slot) {
        // One of 16,384 texts fits, so this takes about a millisecond, once for each slot in which a claim waits.
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
