package dev.holdfast.redis.plain;

import dev.holdfast.redis.config.Layout;
import dev.holdfast.redis.record.KeyPattern;
import dev.holdfast.redis.record.LockKeys;
import dev.holdfast.spi.LockName;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Maps a name to its keys in the plain layout: the string {@code PREFIX NAME} without braces, as programs without
 * Holdfast would name it, and the record {@code holdfast:plain:{...}} beside it, in the same hash slot.
 *
 * <p>If the string's key has a hash tag of its own, the record's key begins with that tag and ends with the
 * string's key; else its tag is the string's key. A key that has a closing brace but no hash tag cannot be a tag.
 * Then the two keys are in two slots, which a cluster refuses and a single server accepts.
 */
public final class PlainKeys {

    private static final String OPEN = Layout.PLAIN_RECORDS + "{";

    private final String prefix;

    PlainKeys(String prefix) {
        this.prefix = prefix;
    }

    byte[] string(LockName name) {
        return bytes(prefix + name.value());
    }

    byte[] record(LockName name) {
        String key = prefix + name.value();
        int open = key.indexOf('{');
        int close = open < 0 ? -1 : key.indexOf('}', open + 1);
        if (close > open + 1) {
            return bytes(OPEN + key.substring(open + 1, close) + "}" + key);
        }
        return bytes(key.indexOf('}') < 0 ? OPEN + key + "}" : OPEN + "}" + key);
    }

    /** The strings of Holdfast and of other programs. */
    KeyPattern strings() {
        return new Form("", prefix) {
            @Override
            String string(String key) {
                return key;
            }
        };
    }

    /** The records. */
    KeyPattern records() {
        return new Form(Layout.PLAIN_RECORDS, prefix) {
            @Override
            String string(String key) {
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

        /** The key of the string that belongs to this key; empty if there is none. */
        abstract String string(String key);

        @Override
        public byte[] pattern(String nameBegins) {
            String first = begin.isEmpty() ? "" : LockKeys.literally(begin) + "*";
            return bytes(first + LockKeys.literally(prefix + nameBegins) + "*");
        }

        // The key of another program may be no valid text, or no valid name.
        @Override
        public boolean isKey(byte[] key) {
            String text = new String(key, StandardCharsets.UTF_8);
            String string = string(text);
            if (!string.startsWith(prefix) || !Arrays.equals(bytes(text), key)) {
                return false;
            }
            try {
                new LockName(string.substring(prefix.length()));
                return true;
            } catch (IllegalArgumentException noName) {
                return false;
            }
        }

        @Override
        public LockName name(byte[] key) {
            return new LockName(string(new String(key, StandardCharsets.UTF_8)).substring(prefix.length()));
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
