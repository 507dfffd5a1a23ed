package dev.holdfast.spi;

/**
 * Is notified when a store sees that a grant of its own client is gone. Called on any thread, while the store holds none of
 * its own locks. It must not block and must not throw.
 */
@FunctionalInterface
public interface LossListener {

    /**
     * A claim that held does not hold any more. This is as final as {@link Renewed.Gone}: the store has seen it, and does not
     * just suspect it. A report about a claim that was released, or that is not known here, does nothing, so a store need not
     * rule out that it comes late or twice.
     *
     * @param name the resource
     * @param id the claim
     * @param reason why it is gone: {@code RELEASED} if somebody ended the claim, {@code TAKEN} if another claim is known to
     *     hold what it held, else {@code EXPIRED}
     */
    void lost(LockName name, ClaimId id, Renewed.Reason reason);
}
