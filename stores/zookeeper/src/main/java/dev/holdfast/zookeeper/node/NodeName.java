package dev.holdfast.zookeeper.node;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.store.sequenced.SequencedEntry;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The name of a claim's node below the parent node of its lock. The name contains all that admission depends on, so
 * that one list of the children shows which of them hold.
 *
 * <pre>
 *   _c_CLIENT.NUMBER-lock-0000000001          a mutex, as Curator's InterProcessMutex names it
 *   _c_CLIENT.NUMBER-__READ__0000000002       a read lock, as Curator's InterProcessReadWriteLock names it
 *   _c_CLIENT.NUMBER-__WRIT__0000000003       a write lock
 *   _c_CLIENT.NUMBER+7-__READ__0000000003     a write lock that was shrunk to 7 permits
 *   _c_CLIENT.NUMBER-2of5-0000000004          2 permits of a semaphore of 5; 1of0 for a wait set
 * </pre>
 *
 * The claim's id stands where Curator puts a random id. An underscore in it becomes {@code ~}, so that no id looks
 * like a marker. In the nodes of Curator the random id is read as the client of the claim, and the sequence as its
 * number.
 *
 * @param text the whole name
 * @param id the id of the claim
 * @param permits the permits that it claims
 * @param limit the limit, which is the kind of the lock
 * @param sequence its number in the queue; the server's sequence overflows from the largest int to the smallest
 * @param foreign whether another library than Holdfast created it
 */
public record NodeName(String text, ClaimId id, int permits, int limit, int sequence, boolean foreign)
        implements SequencedEntry {

    /** The prefix of Curator for nodes that are created with protection against lost replies. */
    private static final String PROTECTED = "_c_";

    private static final String MUTEX = "lock-";
    private static final String READ = "__READ__";
    private static final String WRITE = "__WRIT__";
    /** The length of nearly all sequences. */
    private static final int DIGITS = 10;

    private static final Pattern PERMITS = Pattern.compile("_c_(.+)-(\\d{1,8})of(\\d{1,8})-(-?\\d{9,10})");

    /** The name of a claim's node without the sequence, which the server or {@link #resized} appends. */
    public static String prefix(Claim claim) {
        return prefix(claim.id(), claim.permits(), claim.limit());
    }

    private static String prefix(ClaimId id, int permits, int limit) {
        StringBuilder text = new StringBuilder(64)
                .append(PROTECTED)
                .append(id.client().replace('_', '~'))
                .append('.')
                .append(Long.toString(id.sequence(), Character.MAX_RADIX));
        if (limit == 1) {
            return text.append('-').append(MUTEX).toString();
        }
        if (limit != Claim.ALL) {
            return text.append('-')
                    .append(permits)
                    .append("of")
                    .append(limit)
                    .append('-')
                    .toString();
        }
        if (permits == Claim.ALL) {
            return text.append('-').append(WRITE).toString();
        }
        if (permits > 1) {
            text.append('+').append(permits);
        }
        return text.append('-').append(READ).toString();
    }

    /**
     * The name of the node that was created for a claim. What it says is known from the claim, but for the sequence.
     *
     * @param prefix the {@link #prefix} with which it was created
     * @return null if the name is another one
     */
    public static @Nullable NodeName created(Claim claim, String prefix, String text) {
        try {
            return text.startsWith(prefix)
                    ? new NodeName(
                            text, claim.id(), claim.permits(), claim.limit(), sequence(text, prefix.length()), false)
                    : null;
        } catch (NumberFormatException another) {
            return null;
        }
    }

    /** The same claim with the same sequence and other permits. */
    public NodeName resized(int newPermits) {
        String sequenceText = text.substring(sequenceAt(text));
        return new NodeName(prefix(id, newPermits, limit) + sequenceText, id, newPermits, limit, sequence, foreign);
    }

    /** Whether this is the other node, or the one that has replaced it when the grant was shrunk. */
    public boolean isOfSameClaim(@Nullable NodeName other) {
        return other != null && sequence == other.sequence && id.equals(other.id);
    }

    /**
     * The sequence in the name of a mutex's node, without parsing the rest; -1 if it is not such a name, or one of
     * the few whose sequence has overflowed.
     */
    static int sequenceOfMutex(String text) {
        int at = text.length() - DIGITS;
        if (!text.startsWith(MUTEX, at - MUTEX.length())) {
            return -1;
        }
        long sequence = 0;
        for (int i = at; i < text.length(); i++) {
            char digit = text.charAt(i);
            if (digit < '0' || digit > '9') {
                return -1;
            }
            sequence = sequence * 10 + digit - '0';
        }
        return sequence <= Integer.MAX_VALUE ? (int) sequence : -1;
    }

    /** Parses a name; null if it is not that of a claim's node, such as that of a nested parent node. */
    public static @Nullable NodeName parse(String text) {
        try {
            // Most are those of a mutex, and each grant of a queue parses a list, of which the pattern below would be
            // most of the cost.
            int at = text.length() - DIGITS - MUTEX.length();
            if (text.startsWith(MUTEX, at)) {
                return parsed(text, at, 1, 1, sequence(text, at + MUTEX.length()));
            }
            at = text.lastIndexOf(WRITE);
            if (at >= 0) {
                return parsed(text, at, Claim.ALL, Claim.ALL, sequence(text, at + WRITE.length()));
            }
            at = text.lastIndexOf(READ);
            if (at >= 0) {
                return parsed(text, at, 1, Claim.ALL, sequence(text, at + READ.length()));
            }
            Matcher matcher = PERMITS.matcher(text);
            if (matcher.matches()) {
                int permits = Integer.parseInt(matcher.group(2));
                int limit = Integer.parseInt(matcher.group(3));
                return parsed(text, matcher.end(1) + 1, permits, limit, sequence(text, matcher.start(4)));
            }
            at = text.lastIndexOf(MUTEX);
            return at >= 0 ? parsed(text, at, 1, 1, sequence(text, at + MUTEX.length())) : null;
        } catch (NumberFormatException notALockNode) {
            return null;
        }
    }

    private static NodeName parsed(String text, int markerAt, int permits, int limit, int sequence) {
        int from = text.startsWith(PROTECTED) ? PROTECTED.length() : 0;
        String idText = text.substring(from, Math.max(from, markerAt - 1));
        int dot = idText.lastIndexOf('.');
        if (from > 0 && dot > 0) {
            try {
                int plus = idText.indexOf('+', dot);
                String number = idText.substring(dot + 1, plus < 0 ? idText.length() : plus);
                ClaimId id = new ClaimId(
                        idText.substring(0, dot).replace('~', '_'), Long.parseLong(number, Character.MAX_RADIX));
                int actualPermits = plus < 0 ? permits : Integer.parseInt(idText.substring(plus + 1));
                return checked(new NodeName(text, id, actualPermits, limit, sequence, false));
            } catch (IllegalArgumentException notOurs) {
                return foreign(text, idText, permits, limit, sequence);
            }
        }
        return foreign(text, idText, permits, limit, sequence);
    }

    private static NodeName foreign(String text, String idText, int permits, int limit, int sequence) {
        String client = idText.replaceAll("[^A-Za-z0-9_-]", "-");
        client = client.isEmpty() ? "unknown" : client.substring(0, Math.min(64, client.length()));
        ClaimId id = new ClaimId(client, Integer.toUnsignedLong(sequence));
        return checked(new NodeName(text, id, permits, limit, sequence, true));
    }

    // A holder of no permits at all would hold beside others. Nobody of ours makes such a node, so it counts as
    // a mutex, which no claim of another kind is granted beside.
    private static NodeName checked(NodeName node) {
        boolean canBe = node.limit <= Claim.ALL && node.permits >= 1 && node.permits <= Math.max(1, node.limit);
        return canBe ? node : new NodeName(node.text, node.id, 1, 1, node.sequence, true);
    }

    private static int sequence(String text, int from) {
        int digits = text.length() - from;
        if (digits < DIGITS || digits > DIGITS + 1) {
            throw new NumberFormatException(text);
        }
        return Integer.parseInt(text.substring(from));
    }

    // The sequence has ten digits, or a minus sign and nine or ten digits.
    private static int sequenceAt(String text) {
        int at = text.length() - DIGITS;
        boolean longer = text.charAt(at - 1) == '-' && (text.charAt(at - 2) == '-' || text.charAt(at - 2) == '_');
        return longer ? at - 1 : at;
    }
}
