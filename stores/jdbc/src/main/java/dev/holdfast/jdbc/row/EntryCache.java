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

    private final Map<LockName, CachedRow> rows = new LinkedHashMap<>();
    private final Map<String, Place> parsed = new LinkedHashMap<>();
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

    /** The parsed form of an entry's text, which is given without its line feed; null if it is not in the cache. */
    @Nullable
    Place parsed(String text) {
        return parsed.get(text);
    }

    /** The text of an entry, without its line feed; null if it is not in the cache. */
    @Nullable
    String text(Place entry) {
        return texts.get(entry);
    }

    void remember(String text, Place entry) {
        Place before = parsed.put(text, entry);
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
