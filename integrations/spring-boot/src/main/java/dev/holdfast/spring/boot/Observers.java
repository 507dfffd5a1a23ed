package dev.holdfast.spring.boot;

import dev.holdfast.LockObserver;
import dev.holdfast.LossReason;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;

/** Notifies several observers. One that throws does not keep the others from being notified. */
record Observers(List<LockObserver> all) implements LockObserver {

    static LockObserver of(List<LockObserver> observers) {
        return switch (observers.size()) {
            case 0 -> LockObserver.NONE;
            case 1 -> observers.get(0);
            default -> new Observers(List.copyOf(observers));
        };
    }

    @Override
    public void acquireEnded(String name, Kind kind, Outcome outcome, Duration waited) {
        each(observer -> observer.acquireEnded(name, kind, outcome, waited));
    }

    @Override
    public void acquireEnded(String name, Outcome outcome, Duration waited) {
        each(observer -> observer.acquireEnded(name, outcome, waited));
    }

    @Override
    public void released(String name, Duration held) {
        each(observer -> observer.released(name, held));
    }

    @Override
    public void handedOff(String name, int times) {
        each(observer -> observer.handedOff(name, times));
    }

    @Override
    public void renewed(int claims, int failed, Duration took) {
        each(observer -> observer.renewed(claims, failed, took));
    }

    @Override
    public void renewalLate(String name, Duration remaining) {
        each(observer -> observer.renewalLate(name, remaining));
    }

    @Override
    public void requestEnded(Request request, boolean failed, Duration took) {
        each(observer -> observer.requestEnded(request, failed, took));
    }

    @Override
    public void lost(String name, LossReason reason) {
        each(observer -> observer.lost(name, reason));
    }

    private void each(Consumer<LockObserver> event) {
        RuntimeException first = null;
        for (LockObserver observer : all) {
            try {
                event.accept(observer);
            } catch (RuntimeException e) {
                if (first == null) {
                    first = e;
                } else {
                    first.addSuppressed(e);
                }
            }
        }
        if (first != null) {
            throw first;
        }
    }
}
