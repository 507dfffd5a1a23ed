package dev.holdfast.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterEach;

/**
 * The base class of a store's own tests, in addition to the {@linkplain LockStoreTck laws}. It has two claimants, a
 * name that nobody else uses, and short methods for calls and their answers. The tests run in real time.
 *
 * <p>A wait that takes longer than {@value #PATIENCE_SECONDS} seconds fails; normally none takes long.
 */
public abstract class StoreTest {

    /** A lease that does not end during a test. */
    public static final Duration LONG = Duration.ofMinutes(10);

    private static final int PATIENCE_SECONDS = 60;

    private static final Duration POLL_EVERY = Duration.ofMillis(1);
    private static final Duration TRY_EVERY = Duration.ofMillis(20);

    public final Claimant alice = new Claimant("alice", LONG);
    protected final Claimant bob = new Claimant("bob", LONG);
    protected final LockName name = new LockName("test-" + UUID.randomUUID());

    private final List<AutoCloseable> opened = new ArrayList<>();

    /** Closes a resource after the test. Resources are closed in the reverse order of their opening. */
    protected final <T extends AutoCloseable> T closing(T resource) {
        opened.add(resource);
        return resource;
    }

    @AfterEach
    final void closeWhatWasOpened() throws Exception {
        for (int i = opened.size() - 1; i >= 0; i--) {
            opened.get(i).close();
        }
    }

    /** Waits for the value of a stage. */
    public static <T> T get(CompletionStage<T> stage) {
        try {
            return stage.toCompletableFuture().join();
        } catch (CompletionException failure) {
            if (failure.getCause() instanceof StoreException ours) {
                throw ours;
            }
            throw failure;
        }
    }

    /** Waits for a stage to fail. */
    public static StoreException failure(CompletionStage<?> stage) {
        try {
            return fail("should have failed, but gave " + get(stage));
        } catch (StoreException failure) {
            return failure;
        }
    }

    /** Waits until a listener is notified of a failure. */
    public static StoreException failure(RecordingListener listener) {
        awaitUntil(listener::wasNotified);
        return listener.first(RecordingListener.Event.Failed.class)
                .orElseThrow(() -> new AssertionError(listener.toString()))
                .cause();
    }

    public static Granted granted(LockStore store, Claim claim) {
        Attempt attempt = get(store.tryAcquire(claim));
        assertThat(attempt).isInstanceOf(Granted.class);
        return (Granted) attempt;
    }

    public static void busy(LockStore store, Claim claim) {
        assertThat(get(store.tryAcquire(claim))).isInstanceOf(Attempt.Busy.class);
    }

    public static Renewed renewed(LockStore store, Claim claim) {
        return get(store.renew(List.of(claim))).get(0);
    }

    /** Releases a claim. Returns whether it held or waited. */
    public static boolean released(LockStore store, Claim claim) {
        return get(store.release(claim)).wasOwner();
    }

    public static List<Claim> holders(LockStore store, LockName name) {
        return get(store.inspect(name)).stream()
                .flatMap(state -> state.holders().stream())
                .map(ResourceState.Entry::claim)
                .toList();
    }

    /** Enqueues a claim and waits for its first notification. */
    public static RecordingListener enqueued(LockStore store, Claim claim) {
        RecordingListener listener = new RecordingListener();
        store.enqueue(claim, listener);
        awaitUntil(listener::wasNotified);
        return listener;
    }

    /** Enqueues a claim that has to wait. */
    public static RecordingListener waiting(LockStore store, Claim claim) {
        RecordingListener listener = enqueued(store, claim);
        assertThat(listener.events()).allMatch(RecordingListener.Event.Waiting.class::isInstance);
        return listener;
    }

    /** The same in a store whose time limit is so short that a busy machine may exceed it: then it is enqueued again. */
    public static RecordingListener waitingAfterRepair(LockStore store, Claim claim) {
        return repaired(() -> {
            RecordingListener listener = enqueued(store, claim.again());
            listener.first(RecordingListener.Event.Failed.class).ifPresent(failed -> {
                throw failed.cause();
            });
            return listener;
        });
    }

    public static RecordingListener.Event.Granted awaitGrant(RecordingListener listener) {
        return (RecordingListener.Event.Granted) awaitOutcome(listener, RecordingListener.Event.Granted.class);
    }

    public static Renewed.Reason awaitEnd(RecordingListener listener) {
        return ((RecordingListener.Event.Ended) awaitOutcome(listener, RecordingListener.Event.Ended.class)).reason();
    }

    private static RecordingListener.Event awaitOutcome(RecordingListener listener, Class<?> kind) {
        awaitUntil(() -> listener.outcome().isPresent());
        assertThat(listener.outcome()).get().isInstanceOf(kind);
        listener.checkContract();
        return listener.outcome().orElseThrow();
    }

    /**
     * Repeats a call that fails because the server was unavailable, whatever the effect, as the engine does. This
     * includes a failed renewal, also one among several.
     */
    public static <T> T repaired(Supplier<T> call) {
        long deadline = System.nanoTime() + Duration.ofSeconds(PATIENCE_SECONDS).toNanos();
        while (true) {
            try {
                T answer = call.get();
                throwIfFailed(answer);
                return answer;
            } catch (StoreException failure) {
                assertThat(failure.retryable()).as("%s", failure).isTrue();
                assertThat(System.nanoTime() - deadline).as("%s", failure).isNegative();
                LockSupport.parkNanos(TRY_EVERY.toNanos());
            }
        }
    }

    private static void throwIfFailed(Object answer) {
        if (answer instanceof List<?> answers) {
            answers.forEach(StoreTest::throwIfFailed);
        } else if (answer instanceof Renewed.Failed failed) {
            throw failed.cause();
        }
    }

    /** Sees that a password of an open store is neither in its text nor in the name of a thread. */
    public static void hidesPassword(LockStore store, String password) {
        assertThat(store.toString()).doesNotContain(password);
        assertThat(Thread.getAllStackTraces().keySet())
                .extracting(Thread::getName)
                .noneMatch(thread -> thread.contains(password));
    }

    public static void awaitUntil(BooleanSupplier condition) {
        awaitUntil(condition, "waited for too long");
    }

    /** Waits until a condition holds, and fails with this message if it does not in time. */
    public static void awaitUntil(BooleanSupplier condition, String otherwise) {
        long deadline = System.nanoTime() + Duration.ofSeconds(PATIENCE_SECONDS).toNanos();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - deadline).as(otherwise).isNegative();
            LockSupport.parkNanos(POLL_EVERY.toNanos());
        }
    }

    /** Waits in real time. */
    public static void pause(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException failure) {
            throw new AssertionError(failure);
        }
    }
}
