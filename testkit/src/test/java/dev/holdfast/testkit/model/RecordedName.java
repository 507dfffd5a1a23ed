package dev.holdfast.testkit.model;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.Released.Handed;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.store.ResourceRecord;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** One name as a {@link ResourceRecord} keeps it. A test overrides a method to plant a mistake. */
class RecordedName {

    private ResourceRecord record;

    RecordedName(LockName name) {
        record = new ResourceRecord(name, RecordRun.TICKET);
    }

    Attempt tryAcquire(Claim claim, long now, long wall) {
        return record.tryAcquire(claim, now, wall);
    }

    Renewed enqueue(Claim claim, long now, long wall) {
        return record.enqueue(claim, now, wall);
    }

    Renewed renew(Claim claim, long now, long wall) {
        return record.renew(claim, now, wall);
    }

    boolean release(Claim claim, long now, long wall) {
        return record.release(claim, now, wall);
    }

    Optional<ResourceState> inspect(long now, long wall) {
        return record.inspect(now, wall);
    }

    List<Handed> takeHanded() {
        return record.takeHanded();
    }

    Map<ClaimId, Long> released() {
        return record.tombstones();
    }

    /** Writes the record and reads it again, as databases do between two operations. */
    void writeAndRead() {
        record = new ResourceRecord(
                record.name(),
                RecordRun.TICKET,
                record.limit(),
                record.counter(),
                record.grants(),
                record.waiters(),
                record.tombstones());
    }
}
