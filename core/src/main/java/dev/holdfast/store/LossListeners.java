package dev.holdfast.store;

import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LossListener;
import dev.holdfast.spi.Renewed;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** The listeners of a store that sees losses, usually one: that of the engine which uses the store. Thread-safe. */
public final class LossListeners implements LossListener {

    private final List<LossListener> listeners = new CopyOnWriteArrayList<>();

    /** No listeners yet. */
    public LossListeners() {}

    /** Adds a listener until the registration is closed. */
    public ListenerRegistration add(LossListener listener) {
        listeners.add(listener);
        return () -> listeners.remove(listener);
    }

    @Override
    public void lost(LockName name, ClaimId id, Renewed.Reason reason) {
        listeners.forEach(listener -> listener.lost(name, id, reason));
    }
}
