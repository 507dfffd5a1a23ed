package dev.holdfast.jdbc.row;

import dev.holdfast.jdbc.row.RowCodec.Entries;
import dev.holdfast.spi.LockName;
import dev.holdfast.store.ResourceRecord.Place;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Caches the entries of rows that this connection has read or written lately, as text and in parsed form. A queue
 * changes by one entry at a time, so that almost all entries of a long queue are in the cache. Not thread-safe.
 */
final class EntryCache {

    /** The most single entries that are cached. */
    private static final int MAX_ENTRIES = 2_048;

    /** The most rows whose whole text is cached. */
    private static final int MAX_ROWS = 64;

    private record CachedRow(String text, Entries entries) {}

    /** The longest text whose memory is kept for the next one. */
    private static final int MAX_KEPT_LENGTH = 64 * 1_024;

    /** A part of a text, which is compared and hashed without being copied. */
    private static final class Part {

        String text;
        int start;
        int end;
        int hash;

        Part(String text, int start, int end) {
            this.text = text;
            set(text, start, end);
        }

        void set(String newText, int newStart, int newEnd) {
            text = newText;
            start = newStart;
            end = newEnd;
            int newHash = 0;
            for (int i = newStart; i < newEnd; i++) {
                newHash = 31 * newHash + newText.charAt(i);
            }
            hash = newHash;
        }

        @Override
        public int hashCode() {
            return hash;
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof Part part
                    && part.hash == hash
                    && part.end - part.start == end - start
                    && part.text.regionMatches(part.start, text, start, end - start);
        }
    }

    private final Map<LockName, CachedRow> rows = new LinkedHashMap<>();
    private final Map<Part, Place> parsed = new LinkedHashMap<>();
    /** What is looked for, so that no object is made for each look. */
    private final Part wanted = new Part("", 0, 0);

    private StringBuilder builder = new StringBuilder();
    /** The texts by the identity of their entries: comparing two entries costs more than writing one again. */
    private final IdentityHashMap<Place, String> texts = new IdentityHashMap<>();

    /** The parsed entries of the whole text of a row, if the text is the same as the last time; otherwise null. */
    @Nullable
    Entries entries(LockName name, String text) {
        CachedRow last = rows.get(name);
        return last != null && last.text().equals(text) ? last.entries() : null;
    }

    void remember(LockName name, String text, Entries entries) {
        rows.put(name, new CachedRow(text, entries));
        if (rows.size() > MAX_ROWS) {
            Iterator<CachedRow> oldest = rows.values().iterator();
            oldest.next();
            oldest.remove();
        }
    }

    /** Empty, for the text of a row. It is used again for the next one. */
    StringBuilder builder() {
        if (builder.capacity() > MAX_KEPT_LENGTH) {
            builder = new StringBuilder();
        }
        builder.setLength(0);
        return builder;
    }

    /** The parsed form of an entry, which is given as a part of a text without its line feed; null if it is not in the cache. */
    @Nullable
    Place parsed(String text, int start, int end) {
        wanted.set(text, start, end);
        Place found = parsed.get(wanted);
        wanted.text = ""; // the memory of the whole text is not kept
        return found;
    }

    /** The text of an entry, without its line feed; null if it is not in the cache. */
    @Nullable
    String text(Place entry) {
        return texts.get(entry);
    }

    void remember(String text, Place entry) {
        Place before = parsed.put(new Part(text, 0, text.length()), entry);
        if (before != null) {
            texts.remove(before);
        }
        texts.put(entry, text);
        if (parsed.size() > MAX_ENTRIES) {
            Iterator<Place> oldest = parsed.values().iterator();
            texts.remove(oldest.next());
            oldest.remove();
        }
    }
}
