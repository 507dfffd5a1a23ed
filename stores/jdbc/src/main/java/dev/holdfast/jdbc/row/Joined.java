package dev.holdfast.jdbc.row;

import dev.holdfast.store.EscapedFields;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * What a claim needs to know that one statement has appended to a queue, or whose ticket one has refreshed there. It is read from
 * the text of the queue without its owners, which are most of it.
 *
 * @param permits those of the claims that wait with valid tickets up to this one, first in the queue first
 * @param since when its ticket was taken or refreshed, on the store's clock
 * @param holderEnds when the holder's lease ends if it is not renewed
 */
public record Joined(List<Integer> permits, long since, long holderEnds) {

    /** Where these fields are in an entry of a waiter, counted by the separators before them. */
    private static final int SINCE = 2;

    private static final int EXPIRES = 3;
    private static final int PERMITS = 4;

    /**
     * Reads it from the row after the claim was appended.
     *
     * @throws IllegalArgumentException if somebody else wrote into the row
     * @throws ArithmeticException if a number that somebody else wrote is too large
     */
    static Joined appended(long holderEnds, int more, String others) {
        int entries = 0;
        for (int end = others.indexOf(RowCodec.ENTRY); end >= 0; end = others.indexOf(RowCodec.ENTRY, end + 1)) {
            entries++;
        }
        if (entries != more) {
            throw new IllegalArgumentException("it has " + entries + " entries instead of " + more);
        }
        return read(holderEnds, number(others, last(others), SINCE), others);
    }

    /**
     * Reads it from the queue up to the claim, after its ticket was refreshed.
     *
     * @throws IllegalArgumentException if somebody else wrote into the row
     * @throws ArithmeticException if a number that somebody else wrote is too large
     */
    static Joined refreshed(long holderEnds, String others, Duration ticketTtl) {
        return read(holderEnds, number(others, last(others), EXPIRES) - RowCodec.micros(ticketTtl), others);
    }

    private static Joined read(long holderEnds, long since, String others) {
        List<Integer> permits = new ArrayList<>();
        for (int start = 0; start < others.length(); start = others.indexOf(RowCodec.ENTRY, start) + 1) {
            if (others.startsWith(RowCodec.WAIT, start) && number(others, start, EXPIRES) > since) {
                permits.add(Math.toIntExact(number(others, start, PERMITS)));
            }
        }
        if (permits.isEmpty()) {
            throw new IllegalArgumentException("it has no waiters");
        }
        return new Joined(permits, since, holderEnds);
    }

    private static int last(String others) {
        return others.lastIndexOf(RowCodec.ENTRY, others.length() - 2) + 1;
    }

    private static long number(String others, int start, int field) {
        int from = start;
        for (int i = 0; i < field; i++) {
            from = others.indexOf(EscapedFields.SEPARATOR, from) + 1;
        }
        int end = others.indexOf(EscapedFields.SEPARATOR, from);
        if (end < 0 || end > others.indexOf(RowCodec.ENTRY, start)) {
            throw new IllegalArgumentException("an entry was cut off");
        }
        return Long.parseLong(others, from, end, 10);
    }
}
