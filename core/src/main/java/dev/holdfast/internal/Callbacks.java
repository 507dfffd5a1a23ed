package dev.holdfast.internal;

import dev.holdfast.LockObserver;
import dev.holdfast.LockObserver.Acquisition;
import dev.holdfast.internal.flight.FlightObserver;
import dev.holdfast.internal.time.Simulator;
import dev.holdfast.internal.time.Uncaught;
import java.util.ArrayDeque;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Runs the code of users: listeners, completions of futures, and the observers. Never on a thread that renews, watches the
 * time or does I/O, and never under a mutex of the engine.
 */
public final class Callbacks implements AutoCloseable {

    /** The most threads that run code of users at once. Code that blocks on so many delays the rest. */
    static final int MAX_THREADS = 64;

    /** The most events that wait for an observer. Further ones are dropped: an observer that blocks must not fill the memory. */
    static final int MAX_EVENTS = 10_000;

    private final List<LockObserver> observers;
    private final @Nullable Executor executor;
    private final Lane lane;
    private final @Nullable Simulator simulator;
    private final ReentrantLock mutex = new ReentrantLock();
    /** Events for the observer. Guarded by the mutex. */
    private final Queue<Consumer<LockObserver>> events = new ArrayDeque<>();
    /** What was asked of the store, apart from the rest: there is much of it, and losses must not be dropped for it. Guarded, too. */
    private final Queue<Consumer<LockObserver>> requests = new ArrayDeque<>();
    /** Whether a thread delivers events. Guarded by the mutex. */
    private boolean delivering;

    /**
     * @param observers are notified in this order
     * @param executor the user's own; null for threads of this object
     * @param simulator does the work of the engine; null if threads do it
     */
    Callbacks(List<LockObserver> observers, @Nullable Executor executor, @Nullable Simulator simulator) {
        this.lane = new Lane("holdfast-callback", MAX_THREADS, simulator);
        this.simulator = simulator;
        this.observers = List.copyOf(observers);
        this.executor = executor;
    }

    /**
     * Runs code on the user's executor. A thread of this object hands it over, because the executor may run it in the
     * calling thread.
     */
    public void run(Runnable code) {
        Runnable task = executor == null ? code : () -> handOver(executor, code);
        if (!lane.run(task)) {
            // Closed. Somebody may wait for this call, who must not wait for ever.
            if (simulator != null) {
                simulator.later(task);
                return;
            }
            Thread last = new Thread(task, "holdfast-callback-last");
            last.setDaemon(true);
            last.start();
        }
    }

    // Somebody may wait for the code, so that it runs once, whatever the executor does.
    private static void handOver(Executor theirs, Runnable code) {
        AtomicBoolean begun = new AtomicBoolean();
        Runnable once = () -> {
            if (begun.compareAndSet(false, true)) {
                code.run();
            }
        };
        try {
            theirs.execute(once);
        } catch (Throwable refused) {
            // Not by an executor that is shut down; and not what the code itself has thrown, on this thread.
            if (!(refused instanceof RejectedExecutionException) || begun.get()) {
                Uncaught.report(refused);
            }
            once.run();
        }
    }

    /** Whether anybody observes. If not, nobody needs to measure anything. */
    public boolean isObserved() {
        return !observers.isEmpty() || FlightObserver.isRecording();
    }

    /**
     * Notifies the observers of the beginning of an acquisition on the calling thread, which must be one of the user's, without a
     * mutex.
     *
     * @return what those that have begun something are notified of the end by
     */
    public Map<LockObserver, Acquisition> acquireStarted(String name, LockObserver.Kind kind) {
        Map<LockObserver, Acquisition> started = Map.of();
        for (LockObserver observer : observers) {
            try {
                Acquisition begun = observer.acquireStarted(name, kind);
                if (begun != null) {
                    started = started.isEmpty() ? new IdentityHashMap<>() : started;
                    started.put(observer, begun);
                }
            } catch (Throwable theirs) {
                Uncaught.report(theirs);
            }
        }
        return started;
    }

    /** Notifies the observers on the calling thread, which must be one of the user's, without a mutex. */
    public void observeHere(Consumer<LockObserver> event) {
        if (FlightObserver.isRecording()) {
            notify(FlightObserver.INSTANCE, event);
        }
        observers.forEach(observer -> notify(observer, event));
    }

    // What is thrown is an Error if there is no memory for an event of the flight recorder.
    private static void notify(LockObserver observer, Consumer<LockObserver> event) {
        try {
            event.accept(observer);
        } catch (Throwable theirs) {
            Uncaught.report(theirs);
        }
    }

    /** Notifies the observers on another thread. Such events are delivered one after the other, in their order. */
    public void observe(Consumer<LockObserver> event) {
        if (isObserved()) {
            enqueue(event, events);
        }
    }

    /** The same for a request to the store, which other events overtake. */
    void observeRequest(Consumer<LockObserver> event) {
        enqueue(event, requests);
    }

    private void enqueue(Consumer<LockObserver> event, Queue<Consumer<LockObserver>> queue) {
        mutex.lock();
        try {
            if (queue.size() == MAX_EVENTS) {
                return;
            }
            queue.add(event);
            if (delivering) {
                return;
            }
            delivering = true;
        } finally {
            mutex.unlock();
        }
        if (!lane.run(this::deliver)) {
            dropAll();
        }
    }

    /** Whether all that was given to this was handed over, or dropped by the close. For tests. */
    public boolean isQuiet() {
        mutex.lock();
        try {
            return !delivering && pending() == 0;
        } finally {
            mutex.unlock();
        }
    }

    /** How many pieces of code have not been handed over, or have not returned. For tests. */
    public long pending() {
        return lane.pending();
    }

    private void deliver() {
        for (Consumer<LockObserver> event = next(); event != null; event = next()) {
            observeHere(event);
        }
    }

    private @Nullable Consumer<LockObserver> next() {
        mutex.lock();
        try {
            Consumer<LockObserver> event = events.poll();
            event = event == null ? requests.poll() : event;
            delivering = event != null;
            return event;
        } finally {
            mutex.unlock();
        }
    }

    // After the close nobody delivers them any more.
    private void dropAll() {
        mutex.lock();
        try {
            events.clear();
            requests.clear();
            delivering = false;
        } finally {
            mutex.unlock();
        }
    }

    /** Lets what is under way come to its end. */
    @Override
    public void close() {
        lane.close();
    }
}
