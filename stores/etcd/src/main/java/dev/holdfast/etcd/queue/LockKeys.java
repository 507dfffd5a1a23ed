package dev.holdfast.etcd.queue;

import com.google.protobuf.ByteString;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * Which keys a name has. The queue of a name is every key {@code PREFIX NAME / REST} whose rest has no slash, in the order
 * of their creation; that is how {@code etcdctl lock} and etcd's own client make theirs.
 *
 * <p>Two characters of a name are written as {@code %2F} (a slash) and {@code %25} (a percent sign), so that names and
 * prefixes of keys belong together one to one: the lock {@code a/b} has nothing to do with the lock {@code a}
 * (etcd-io/website#710). A tombstone is {@code PREFIX %t / NAME / ID}, which is the queue of no name.
 */
public final class LockKeys {

    /** What the client id of a claim begins with that another program has made. */
    static final String FOREIGN = "etcdctl_";

    private static final String TOMBS = "%t/";
    private static final char SLASH = '/';
    private static final int MAX_FOREIGN = 64 - FOREIGN.length();

    private final String prefix;

    public LockKeys(String prefix) {
        this.prefix = prefix;
    }

    /** What the keys of a queue begin with. */
    public ByteString queue(LockName name) {
        return utf8(prefix + escaped(name.value()) + SLASH);
    }

    /**
     * The key of a claim that lives by a lease: the lease's number, as {@code etcdctl lock} has it, and the claim's slot if a
     * client has several claims of a name. Keys are used again and again, because a server keeps what it knows of a deleted
     * key until it is compacted, and goes through all of that when it reads the queue.
     */
    public static ByteString key(ByteString queue, long lease, int slot) {
        String hex = Long.toHexString(lease);
        return queue.concat(utf8(slot == 0 ? hex : hex + '-' + slot));
    }

    /** The key that refuses a claim which was released already. */
    public ByteString tombstone(LockName name, ClaimId id) {
        return utf8(prefix + TOMBS + escaped(name.value()) + SLASH + id);
    }

    /** What the keys of all names with such a beginning begin with; tombstones and others may be among them. */
    public ByteString names(String nameBegins) {
        return utf8(prefix + escaped(nameBegins));
    }

    /** The name whose queue a key is in; null if it is in none. */
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

    /** An id for the key of another program. */
    static ClaimId foreign(ByteString queue, ByteString key) {
        String rest = key.substring(queue.size()).toStringUtf8();
        boolean plain = rest.length() <= MAX_FOREIGN && rest.matches("[A-Za-z0-9_-]*");
        return new ClaimId(FOREIGN + (plain ? rest : "odd-" + Integer.toHexString(rest.hashCode())), 0);
    }

    /** The end of the range of all keys that begin so. */
    public static ByteString endOf(ByteString beginning) {
        byte[] end = beginning.toByteArray();
        // UTF-8 has no byte 0xff, so the last byte can always be raised.
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
