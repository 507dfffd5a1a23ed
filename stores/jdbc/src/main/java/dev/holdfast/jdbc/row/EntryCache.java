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
 * The entries of rows that this connection has read or written lately, as text and as what they say. A queue changes by one
 * entry at a time, so that of a long one almost everything is known from the last time. Not thread-safe.
 */
final class EntryCache {

    /** The most entries that are remembered. */
    private static final int MOST = 2_048;

    /** The most rows that are remembered as a whole. */
    private static final int MOST_ROWS = 64;

    private record Whole(String text, Entries entries) {}

    private final Map<LockName, Whole> rows = new LinkedHashMap<>();
    private final Map<String, Place> places = new LinkedHashMap<>();
    /** By identity: comparing two places costs more than writing one anew. */
    private final IdentityHashMap<Place, String> texts = new IdentityHashMap<>();

    /** What the whole text of a row says, if it is just what it was the last time; else null. */
    @Nullable
    Entries entries(LockName name, String text) {
        Whole last = rows.get(name);
        return last != null && last.text().equals(text) ? last.entries() : null;
    }

    void remember(LockName name, String text, Entries entries) {
        rows.put(name, new Whole(text, entries));
        if (rows.size() > MOST_ROWS) {
            Iterator<Whole> oldest = rows.values().iterator();
            oldest.next();
            oldest.remove();
        }
    }

    /** What an entry says, without its line feed; null if that is not known. */
    @Nullable
    Place place(String text) {
        return places.get(text);
    }

    /** How a place is written, without its line feed; null if that is not known. */
    @Nullable
    String text(Place place) {
        return texts.get(place);
    }

    void remember(String text, Place place) {
        Place before = places.put(text, place);
        if (before != null) {
            texts.remove(before);
        }
        texts.put(place, text);
        if (places.size() > MOST) {
            Iterator<Place> oldest = places.values().iterator();
            texts.remove(oldest.next());
            oldest.remove();
        }
    }
}
