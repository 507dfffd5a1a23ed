package dev.holdfast.etcd.queue;

import com.google.protobuf.ByteString;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * The keys of a name. The queue of a name consists of all keys {@code PREFIX NAME / REST} whose rest has no slash,
 * in the order of their creation. {@code etcdctl lock} and etcd's own client make such keys too.
 *
 * <p>Two characters of a name are written as {@code %2F} (a slash) and {@code %25} (a percent sign), so that each
 * prefix of keys belongs to exactly one name: the lock {@code a/b} has nothing to do with the lock {@code a}
 * (etcd-io/website#710). A tombstone is {@code PREFIX %t / NAME / ID}, which is in the queue of no name.
 */
public final class LockKeys {

    /** The beginning of the client id of a claim that another program has made. */
    static final String FOREIGN = "etcdctl_";

    private static final String TOMBSTONES = "%t/";
    private static final char SLASH = '/';
    private static final int MAX_FOREIGN = 64 - FOREIGN.length();

    private final String prefix;

    public LockKeys(String prefix) {
        this.prefix = prefix;
    }

    /** The prefix of the keys of a queue. */
    public ByteString queue(LockName name) {
        return utf8(prefix + escaped(name.value()) + SLASH);
    }

    /**
     * The key of a claim that is attached to a lease: the lease's number, as {@code etcdctl lock} has it, and the
     * claim's slot if a client has several claims of a name. Keys are reused, because a server keeps the history of
     * a deleted key until compaction, and goes through all of it when it reads the queue.
     */
    public static ByteString key(ByteString queue, long lease, int slot) {
        String hex = Long.toHexString(lease);
        return queue.concat(utf8(slot == 0 ? hex : hex + '-' + slot));
    }

    /** The tombstone of a claim: a key that prevents a claim which was released already from being acquired. */
    public ByteString tombstone(LockName name, ClaimId id) {
        return utf8(prefix + TOMBSTONES + escaped(name.value()) + SLASH + id);
    }

    /**
     * The prefix of the keys of all names that begin like this. Tombstones and other keys may have this prefix too.
     */
    public ByteString names(String nameBegins) {
        return utf8(prefix + escaped(nameBegins));
    }

    /** The name whose queue contains a key; null if none does. */
    @Nullable
    public LockName name(ByteString key) {
        String text = key.toStringUtf8();
        int end = text.indexOf(SLASH, prefix.length());
        if (end <= prefix.length() || text.indexOf(SLASH, end + 1) >= 0) {
            return null;
        }
        String name = text.substring(prefix.length(), end);
        return isEscaped(name) ? new LockName(name.replace("%2F", "/").replace("%25", "%")) : null;
    }

    /** Whether a key belongs to a longer name of another program, and not to this queue. */
    static boolean isBelow(ByteString queue, ByteString key) {
        return key.substring(queue.size()).toStringUtf8().indexOf(SLASH) >= 0;
    }

    /** A claim id for the key of another program. */
    static ClaimId foreign(ByteString queue, ByteString key) {
        String rest = key.substring(queue.size()).toStringUtf8();
        boolean plain = rest.length() <= MAX_FOREIGN && rest.matches("[A-Za-z0-9_-]*");
        return new ClaimId(FOREIGN + (plain ? rest : "odd-" + Integer.toHexString(rest.hashCode())), 0);
    }

    /** The end of the range of all keys with a prefix. */
    public static ByteString endOf(ByteString keyPrefix) {
        byte[] end = keyPrefix.toByteArray();
        // UTF-8 has no byte 0xff, so the last byte can always be increased.
        end[end.length - 1]++;
        return ByteString.copyFrom(end);
    }

    private static boolean isEscaped(String text) {
        for (int at = text.indexOf('%'); at >= 0; at = text.indexOf('%', at + 1)) {
            if (!text.startsWith("%2F", at) && !text.startsWith("%25", at)) {
                return false;
            }
        }
        return text.getBytes(StandardCharsets.UTF_8).length <= 3 * LockName.MAX_BYTES
                && text.chars().noneMatch(Character::isISOControl)
                && text.replace("%2F", "/").replace("%25", "%").getBytes(StandardCharsets.UTF_8).length
                        <= LockName.MAX_BYTES;
    }

    private static String escaped(String name) {
        return name.indexOf('%') < 0 && name.indexOf(SLASH) < 0
                ? name
                : name.replace("%", "%25").replace("/", "%2F");
    }

    private static ByteString utf8(String text) {
        return ByteString.copyFromUtf8(text);
    }
}
