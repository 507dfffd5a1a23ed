package dev.holdfast.zookeeper.node;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The name of a claim's node in the folder of its lock. All that admission depends on is in it, so that one list of the
 * folder tells who holds.
 *
 * <pre>
 *   _c_CLIENT.NUMBER-lock-0000000001          a mutex, as Curator's InterProcessMutex names it
 *   _c_CLIENT.NUMBER-__READ__0000000002       a read lock, as Curator's InterProcessReadWriteLock names it
 *   _c_CLIENT.NUMBER-__WRIT__0000000003       a write lock
 *   _c_CLIENT.NUMBER+7-__READ__0000000003     a write lock that was shrunk to 7 permits
 *   _c_CLIENT.NUMBER-2of5-0000000004          2 permits of a semaphore of 5; 1of0 for a wait set
 * </pre>
 *
 * The claim's id takes the place of Curator's random id; an underscore in it becomes {@code ~}, so that no id looks like a
 * marker. Nodes of Curator have a random id there, and the sequence stands for the number.
 *
 * @param text the whole name
 * @param id the claim
 * @param permits how much it claims
 * @param limit the kind
 * @param sequence its place; the server counts on from the largest int to the smallest
 * @param foreign whether it was not made by Holdfast
 */
public record NodeName(String text, ClaimId id, int permits, int limit, int sequence, boolean foreign) {

    private static final String PROTECTED = "_c_";
    private static final String MUTEX = "lock-";
    private static final String READ = "__READ__";
    private static final String WRITE = "__WRIT__";
    private static final Pattern PERMITS = Pattern.compile("_c_(.+)-(\\d{1,8})of(\\d{1,8})-(-?\\d{9,10})");

    /** The name of a claim's node but for the sequence, which the server or {@link #resized} adds. */
    public static String beginning(Claim claim) {
        return beginning(claim.id(), claim.permits(), claim.limit());
    }

    private static String beginning(ClaimId id, int permits, int limit) {
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

    /** The same claim at the same place with other permits. */
    public NodeName resized(int newPermits) {
        String sequenceText = text.substring(sequenceAt(text));
        return new NodeName(beginning(id, newPermits, limit) + sequenceText, id, newPermits, limit, sequence, foreign);
    }

    public boolean isWrite() {
        return limit == Claim.ALL && permits == Claim.ALL;
    }

    public boolean isRead() {
        return limit == Claim.ALL && permits == 1;
    }

    /** Reads a name; null if it is no node of a lock, such as a folder below. */
    public static @Nullable NodeName parse(String text) {
        try {
            int at = text.lastIndexOf(WRITE);
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
        } catch (NumberFormatException notALock) {
            return null;
        }
    }

    private static NodeName parsed(String text, int markerAt, int permits, int limit, int sequence) {
        int from = text.startsWith(PROTECTED) ? PROTECTED.length() : 0;
        String who = text.substring(from, Math.max(from, markerAt - 1));
        int dot = who.lastIndexOf('.');
        if (from > 0 && dot > 0) {
            try {
                int plus = who.indexOf('+', dot);
                String number = who.substring(dot + 1, plus < 0 ? who.length() : plus);
                ClaimId id = new ClaimId(
                        who.substring(0, dot).replace('~', '_'), Long.parseLong(number, Character.MAX_RADIX));
                int told = plus < 0 ? permits : Integer.parseInt(who.substring(plus + 1));
                return new NodeName(text, id, told, limit, sequence, false);
            } catch (IllegalArgumentException somebodyElses) {
                return foreign(text, who, permits, limit, sequence);
            }
        }
        return foreign(text, who, permits, limit, sequence);
    }

    private static NodeName foreign(String text, String who, int permits, int limit, int sequence) {
        String client = who.replaceAll("[^A-Za-z0-9_-]", "-");
        client = client.isEmpty() ? "unknown" : client.substring(0, Math.min(64, client.length()));
        ClaimId id = new ClaimId(client, Integer.toUnsignedLong(sequence));
        return new NodeName(text, id, permits, limit, sequence, true);
    }

    private static int sequence(String text, int from) {
        int digits = text.length() - from;
        if (digits < 10 || digits > 11) {
            throw new NumberFormatException(text);
        }
        return Integer.parseInt(text.substring(from));
    }

    // Ten digits, or a minus and nine or ten.
    private static int sequenceAt(String text) {
        int at = text.length() - 10;
        boolean longer = text.charAt(at - 1) == '-' && (text.charAt(at - 2) == '-' || text.charAt(at - 2) == '_');
        return longer ? at - 1 : at;
    }
}
