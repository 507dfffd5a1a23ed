package dev.holdfast.jdbc.row;

import dev.holdfast.spi.LockName;
import dev.holdfast.spi.Released.Handed;
import dev.holdfast.spi.StoreException;
import dev.holdfast.store.ResourceRecord;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A change of the records of some names that were read together. It may be run several times, each time on fresh
 * records, and only those of the last run are kept. So it must have no effect except on the records. If it throws
 * anything other than a {@link StoreException}, nothing is written.
 */
@FunctionalInterface
public interface Transition<T> {

    /**
     * The records that were read. {@code now} is on the store's clock; {@code epoch} is the least counter for a new
     * grant. The mark is null unless the transition is that of a node of a quorum.
     */
    record Read(
            Map<LockName, ResourceRecord> records,
            long now,
            long epoch,
            @Nullable NodeMark mark) {

        public ResourceRecord record(LockName name) {
            ResourceRecord record = records.get(name);
            if (record == null) {
                throw new IllegalArgumentException("\"" + name + "\" was not read");
            }
            return record;
        }

        /** The record of a transition of one name. */
        public ResourceRecord only() {
            return records.values().iterator().next();
        }
    }

    /**
     * The result of a transition.
     *
     * @param answer its answer; null if it was refused
     * @param refusal why the record refused it; the changes made by settling the record were kept nevertheless
     * @param handed the waiting claims that it granted
     * @param now when it was made
     * @param contended whether more is left than a sole holder
     */
    record Applied<T>(
            @Nullable T answer, @Nullable StoreException refusal, List<Handed> handed, long now, boolean contended) {

        public static <T> Applied<T> of(T answer) {
            return new Applied<>(answer, null, List.of(), 0, false);
        }

        public T answerOrThrow() {
            if (refusal != null) {
                throw refusal;
            }
            if (answer == null) {
                throw new IllegalStateException("a transition has an answer or a refusal");
            }
            return answer;
        }
    }

    T apply(Read read);
}
