package dev.holdfast.testkit.fault;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;

/** What another program, a bad disk or a half-finished copy makes of a stored value. */
public enum Damage {

    /** One bit is another one. */
    BIT,
    /** One byte is another one. */
    BYTE,
    /** The end is missing. */
    CUT,
    /** A part is missing. */
    HOLE,
    /** There is more at the end. */
    LONGER,
    /** A part is there twice. */
    TWICE,
    /** A digit is another one, so that a number has the right form and another value. */
    DIGIT,
    /** A digit is there many times more, so that a number is larger than any of its kind. */
    MANY_DIGITS,
    /** A digit is a minus sign. */
    MINUS,
    /** It is something else. */
    ANYTHING;

    private static final int LONGEST = 40;
    private static final int BYTES = 256;

    /** The value with this damage; now and then it is as it was. */
    public byte[] of(byte[] value, Random random) {
        byte[] changed = value.clone();
        int at = random.nextInt(Math.max(1, value.length));
        int end = Math.min(value.length, at + 1 + random.nextInt(LONGEST));
        int digit = digit(value, random);
        switch (this) {
            case BIT -> changed[at] ^= (byte) (1 << random.nextInt(Byte.SIZE));
            case BYTE -> changed[at] = (byte) random.nextInt(BYTES);
            case DIGIT -> changed[digit] = (byte) ('0' + random.nextInt(10));
            case MINUS -> changed[digit] = '-';
            case CUT -> changed = Arrays.copyOf(value, at);
            case HOLE -> changed = joined(value, at, new byte[0], end);
            case LONGER -> changed = joined(value, value.length, bytes(random), value.length);
            case TWICE -> changed = joined(value, end, Arrays.copyOfRange(value, at, end), end);
            case MANY_DIGITS ->
                changed = joined(value, digit, "9".repeat(30).getBytes(StandardCharsets.US_ASCII), digit);
            case ANYTHING -> changed = bytes(random);
        }
        return changed;
    }

    /** The place of a digit, or of anything if there is none. */
    private static int digit(byte[] value, Random random) {
        int from = random.nextInt(value.length);
        for (int i = 0; i < value.length; i++) {
            int at = (from + i) % value.length;
            if (value[at] >= '0' && value[at] <= '9') {
                return at;
            }
        }
        return from;
    }

    /** The value to {@code until}, the middle, and the value from {@code next} on. */
    private static byte[] joined(byte[] value, int until, byte[] middle, int next) {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        all.write(value, 0, until);
        all.writeBytes(middle);
        all.write(value, next, value.length - next);
        return all.toByteArray();
    }

    private static byte[] bytes(Random random) {
        byte[] bytes = new byte[random.nextInt(LONGEST)];
        random.nextBytes(bytes);
        return bytes;
    }
}
