package dev.holdfast.jdbc.adopted;

import dev.holdfast.spi.ClaimId;
import java.nio.charset.StandardCharsets;
import java.util.UUID;

/**
 * A row of the table of other programs, as it was read.
 *
 * @param name its name as it stands there, which the column may take for the same as another one
 * @param isFree whether its flag says that nobody holds the lock
 * @param owner who holds it, or the empty text if the table does not say
 * @param time when its holder took it or showed that it lives, or the empty text if the table does not say
 * @param isDead whether that is so long ago that the holder counts as dead
 */
public record TheirRow(String name, boolean isFree, String owner, String time, boolean isDead) {

    private static final String THEIRS = "their-row-";

    /**
     * An id for the hold of another program, which is another one as soon as anything of it has changed.
     *
     * @param version the version of our row of the lock: it has changed if the lock was ours in between
     */
    public ClaimId id(long version) {
        String seen = version + "\n" + name + "\n" + owner + "\n" + time;
        return new ClaimId(THEIRS + UUID.nameUUIDFromBytes(seen.getBytes(StandardCharsets.UTF_8)), 0);
    }

    /** Whether an id is one of {@link #id}. */
    public static boolean isTheirs(ClaimId id) {
        return id.client().startsWith(THEIRS);
    }

    /** What is known about the holder, for people. */
    public String label() {
        return (owner + " " + time).strip();
    }
}
