package dev.holdfast.redis.plain;

import dev.holdfast.redis.client.HashSlot;
import dev.holdfast.redis.config.Layout;
import dev.holdfast.redis.record.KeyPattern;
import dev.holdfast.redis.record.LockKeys;
import dev.holdfast.spi.LockName;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Maps a name to its keys: that of the lock, {@code PREFIX NAME} without braces, as programs without Holdfast would name
 * it, and the record {@code holdfast:plain:{...}} beside it, in the same hash slot. And to what Redisson derives from
 * the key of the lock.
 *
 * <p>If the lock's key has a hash tag of its own, the record's key begins with that tag and ends with the
 * lock's key; else its tag is the lock's key. A key that has a closing brace but no hash tag cannot be a tag.
 * Then the two keys are in two slots, which is refused on a cluster; a single server accepts it.
 */
public final class PlainKeys {

    private static final String OPEN = Layout.PLAIN_RECORDS + "{";

    private final String prefix;

    PlainKeys(String prefix) {
        this.prefix = prefix;
    }

    byte[] lock(LockName name) {
        return bytes(key(name));
    }

    private String key(LockName name) {
        return prefix + name.value();
    }

    byte[] record(LockName name) {
        String key = key(name);
        int open = key.indexOf('{');
        int close = open < 0 ? -1 : key.indexOf('}', open + 1);
        if (close > open + 1) {
            return bytes(OPEN + key.substring(open + 1, close) + "}" + key);
        }
        return bytes(key.indexOf('}') < 0 ? OPEN + key + "}" : OPEN + "}" + key);
    }

    /** The list in which those wait who use the key as Redisson's fair lock. */
    byte[] fairQueue(LockName name) {
        return bytes(redissons("redisson_lock_queue", key(name)));
    }

    /** The channel on which Redisson's clients publish that they have released the lock. */
    String channel(LockName name) {
        return redissons("redisson_lock__channel", key(name));
    }

    private static String redissons(String first, String key) {
        return key.indexOf('{') < 0 ? first + ":{" + key + "}" : first + ":" + key;
    }

    /**
     * Whether all keys of a name are in the same hash slot of a cluster.
     *
     * @param redissons whether those that Redisson derives are among them
     */
    boolean areInOneSlot(LockName name, boolean redissons) {
        int slot = HashSlot.of(lock(name));
        return HashSlot.of(record(name)) == slot && (!redissons || HashSlot.of(fairQueue(name)) == slot);
    }

    /** The locks of Holdfast and of other programs. */
    KeyPattern locks() {
        return new Form("", prefix) {
            @Override
            String lock(String key) {
                return key;
            }
        };
    }

    /** The records. */
    KeyPattern records() {
        return new Form(Layout.PLAIN_RECORDS, prefix) {
            @Override
            String lock(String key) {
                if (!key.startsWith(OPEN) || key.indexOf('}') < 0) {
                    return "";
                }
                int close = key.indexOf('}');
                return close == key.length() - 1 ? key.substring(OPEN.length(), close) : key.substring(close + 1);
            }
        };
    }

    private abstract static class Form implements KeyPattern {

        private final String begin;
        private final String prefix;

        private Form(String begin, String prefix) {
            this.begin = begin;
            this.prefix = prefix;
        }

        /** The key of the lock that belongs to this key; empty if there is none. */
        abstract String lock(String key);

        @Override
        public byte[] pattern(String nameBegins) {
            String first = begin.isEmpty() ? "" : LockKeys.literally(begin) + "*";
            return bytes(first + LockKeys.literally(prefix + nameBegins) + "*");
        }

        // The key of another program may be no valid text, or no valid name.
        @Override
        public boolean isKey(byte[] key) {
            String text = new String(key, StandardCharsets.UTF_8);
            String lock = lock(text);
            if (!lock.startsWith(prefix) || !Arrays.equals(bytes(text), key)) {
                return false;
            }
            try {
                new LockName(lock.substring(prefix.length()));
                return true;
            } catch (IllegalArgumentException noName) {
                return false;
            }
        }

        @Override
        public LockName name(byte[] key) {
            return new LockName(lock(new String(key, StandardCharsets.UTF_8)).substring(prefix.length()));
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
