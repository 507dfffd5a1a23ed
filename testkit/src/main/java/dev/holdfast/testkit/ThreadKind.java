package dev.holdfast.testkit;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The kinds of threads of this JDK: platform threads, and virtual threads if the JDK has them.
 *
 * @param name the kind, for people
 * @param factory makes unstarted threads
 */
public record ThreadKind(String name, ThreadFactory factory) {

    private static final long LONGEST_MINUTES = 3;

    /** All kinds of this JDK. */
    public static List<ThreadKind> all() {
        List<ThreadKind> kinds = new ArrayList<>();
        kinds.add(new ThreadKind("a platform thread", task -> {
            Thread thread = new Thread(task);
            thread.setDaemon(true);
            return thread;
        }));
        ThreadFactory virtual = virtualFactory();
        if (virtual != null) {
            kinds.add(new ThreadKind("a virtual thread", virtual));
        }
        return kinds;
    }

    /** Runs a body on one thread of each kind in turn. An exception of the body is thrown here. */
    public static void runOnEach(Consumer<ThreadKind> body) {
        for (ThreadKind kind : all()) {
            kind.runAll(List.of(() -> body.accept(kind)));
        }
    }

    /**
     * Runs tasks at the same time, each on its own thread of this kind, and waits for them. The first failure is
     * thrown here.
     */
    public void runAll(List<Runnable> tasks) {
        AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
        List<Thread> threads = new ArrayList<>();
        for (Runnable task : tasks) {
            threads.add(factory.newThread(() -> {
                try {
                    task.run();
                } catch (Throwable thrown) {
                    failure.compareAndSet(null, thrown);
                }
            }));
        }
        threads.forEach(Thread::start);
        threads.forEach(ThreadKind::join);
        Throwable thrown = failure.get();
        if (thrown != null) {
            throw new AssertionError("On " + name + ": " + thrown.getMessage(), thrown);
        }
    }

    private static void join(Thread thread) {
        try {
            thread.join(TimeUnit.MINUTES.toMillis(LONGEST_MINUTES));
        } catch (InterruptedException interrupted) {
            throw new AssertionError("Interrupted while waiting for " + thread, interrupted);
        }
        if (thread.isAlive()) {
            AssertionError stuck = new AssertionError("A thread did not end: " + thread);
            stuck.setStackTrace(thread.getStackTrace());
            throw stuck;
        }
    }

    @Override
    public String toString() {
        return name;
    }

    // Calls Thread.ofVirtual().factory() by reflection, because Java 17 does not have it.
    private static @Nullable ThreadFactory virtualFactory() {
        try {
            Class<?> builder = Class.forName("java.lang.Thread$Builder$OfVirtual");
            MethodHandles.Lookup lookup = MethodHandles.publicLookup();
            MethodHandle ofVirtual = lookup.findStatic(Thread.class, "ofVirtual", MethodType.methodType(builder));
            MethodHandle factory = lookup.findVirtual(
                    Class.forName("java.lang.Thread$Builder"), "factory", MethodType.methodType(ThreadFactory.class));
            return (ThreadFactory) factory.invoke(ofVirtual.invoke());
        } catch (ClassNotFoundException | NoSuchMethodException beforeJdk21) {
            return null;
        } catch (Throwable impossible) {
            throw new AssertionError("Virtual threads are there but cannot be made", impossible);
        }
    }
}
