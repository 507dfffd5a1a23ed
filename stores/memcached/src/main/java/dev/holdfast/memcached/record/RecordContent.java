package dev.holdfast.memcached.record;

import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.store.ResourceRecord.Place;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a value says about a name.
 *
 * @param counter the counter of the newest grant; 0 if there was none
 * @param grants the grants, oldest first, perhaps with some that are over
 * @param tombstones the released claims whose acquire may still arrive, each with the time until which it is refused
 */
public record RecordContent(LockName name, long counter, List<Place> grants, Map<ClaimId, Long> tombstones) {

    /** Whether there is nothing to keep. */
    boolean isEmpty() {
        return grants.isEmpty() && tombstones.isEmpty();
    }

    /** The grant of a claim; null if there is none. */
    public @Nullable Place grantOf(ClaimId id) {
        for (Place grant : grants) {
            if (grant.claim().id().equals(id)) {
                return grant;
            }
        }
        return null;
    }

    /** The same, with the number of the value as the counter of the grant that was made together with it. */
    RecordContent numbered(long own) {
        if (counter != RecordText.NEW) {
            return this;
        }
        List<Place> numbered = new ArrayList<>(grants.size());
        for (Place grant : grants) {
            numbered.add(
                    grant.counter() == RecordText.NEW
                            ? new Place(grant.claim(), own, grant.since(), grant.expires())
                            : grant);
        }
        return new RecordContent(name, own, numbered, tombstones);
    }
}
