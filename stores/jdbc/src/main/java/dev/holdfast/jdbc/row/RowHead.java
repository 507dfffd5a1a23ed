package dev.holdfast.jdbc.row;

import dev.holdfast.spi.ClaimId;

/**
 * What a waiter needs to know of a row as long as one claim has all permits: who that is, and how many wait before it. It is read
 * without the queue, which may be a hundred times as long.
 *
 * @param version the version of the row; 0 if there is none
 * @param holder the claim that holds, as text
 * @param held its counter
 * @param since since when it holds
 * @param expires when its lease ends
 * @param isSole whether it has all permits; otherwise others may hold besides
 * @param place about how many claims wait before the one that was asked for; negative if that does not wait
 */
public record RowHead(long version, String holder, long held, long since, long expires, boolean isSole, int place) {

    /** About the length of one entry in the text of a queue. */
    private static final int ENTRY_LENGTH = 128;

    /**
     * What is asked about a row.
     *
     * @param version the version that was seen last: nothing is returned for a row that still has it
     * @param first the claim whose place is asked for
     */
    public record Asked(long version, ClaimId first) {

        /** What the text of the queue contains as long as the claim waits. */
        String entry() {
            return RowCodec.waiting(first);
        }
    }

    /** @param offset the position at which the entry of the claim begins, counted from 1; 0 if there is none */
    static int place(int offset) {
        return offset == 0 ? -1 : (offset - 1) / ENTRY_LENGTH;
    }
}
