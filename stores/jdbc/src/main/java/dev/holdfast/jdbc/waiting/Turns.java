package dev.holdfast.jdbc.waiting;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.store.ResourceRecord;
import dev.holdfast.store.ResourceRecord.Place;

/**
 * Counts how many releases come before each claim of a queue is granted, at the least. One release can grant many: all readers
 * behind a writer have the turn 0, and are looked for as if each were the first in the queue.
 *
 * <p>The claims are given one after the other, in the order of the queue.
 */
public final class Turns {

    /** The permits that the next release leaves for the claims that were not counted yet. */
    private long room;

    /** The most permits of one claim among those that the release before has granted. */
    private int largest;

    private boolean isFirst = true;
    private int turn;

    /** The turns behind a holder that leaves no room for any other claim. */
    public Turns(int limit) {
        room = limit;
    }

    public Turns(ResourceRecord record) {
        long granted = 0;
        for (Place grant : record.grants()) {
            granted += grant.claim().permits();
            largest = Math.max(largest, grant.claim().permits());
        }
        room = record.limit() - granted + largest;
        largest = 0;
    }

    /** The turn of a claim of the record; 0 if it does not wait. */
    public static int of(ClaimId id, ResourceRecord record) {
        Turns turns = new Turns(record);
        for (Place place : record.waiters()) {
            int turn = turns.next(place.claim());
            if (place.claim().id().equals(id)) {
                return turn;
            }
        }
        return 0;
    }

    /** The turn of the claim that comes next in the queue. */
    public int next(Claim claim) {
        return next(claim.permits());
    }

    /** The same for a claim of so many permits. */
    public int next(int permits) {
        if (permits > room) {
            turn += isFirst ? 0 : 1;
            // Where one release is not enough for it, as for a writer behind readers, nobody knows how many it takes.
            room = Math.max(largest, permits);
            largest = 0;
        }
        isFirst = false;
        room -= permits;
        largest = Math.max(largest, permits);
        return turn;
    }
}
