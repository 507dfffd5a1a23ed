package dev.holdfast.testkit;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.OwnerInfo;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/** A client that makes claims, with its own client id and sequence. Each claim is a new attempt. Thread-safe. */
public final class Claimant {

    private final String client;
    private final Duration lease;
    private final Consumer<Claim> check;
    private final AtomicLong sequence = new AtomicLong();

    /**
     * @param label the beginning of the client id: letters and digits
     * @param lease the lease of the claims
     */
    public Claimant(String label, Duration lease) {
        this(label, lease, claim -> {});
    }

    /** @param check is called with each claim before it is returned, and may throw */
    public Claimant(String label, Duration lease, Consumer<Claim> check) {
        this.check = check;
        this.client = label + '-' + UUID.randomUUID().toString().substring(0, 8);
        this.lease = lease;
    }

    /** The client id. */
    public String client() {
        return client;
    }

    public Claim mutex(LockName name) {
        return claim(name, 1, 1);
    }

    public Claim read(LockName name) {
        return claim(name, 1, Claim.ALL);
    }

    public Claim write(LockName name) {
        return claim(name, Claim.ALL, Claim.ALL);
    }

    /** A claim of a wait set. */
    public Claim waitSet(LockName name) {
        return claim(name, 1, 0);
    }

    /** A claim of {@code permits} of a semaphore of {@code limit}, or of any other kind by its numbers. */
    public Claim claim(LockName name, int permits, int limit) {
        ClaimId id = new ClaimId(client, sequence.incrementAndGet());
        Claim claim = new Claim(name, id, permits, limit, lease, OwnerInfo.of(client));
        check.accept(claim);
        return claim;
    }

    @Override
    public String toString() {
        return client;
    }
}
