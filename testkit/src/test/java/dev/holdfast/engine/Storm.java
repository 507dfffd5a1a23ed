package dev.holdfast.engine;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.holdfast.testkit.Seeds;
import dev.holdfast.testkit.ThreadKind;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Many threads that each run an action in rounds, while another thread interrupts them at random moments. */
final class Storm {

    static final int THREADS = 16;

    private static final long LONGEST_GAP_NANOS = TimeUnit.MICROSECONDS.toNanos(200);

    private final ThreadKind kind;
    private final long seed;

    /** The action of one thread in one round. */
    interface Round {
        /** @throws InterruptedException if an interrupt has ended the action, which is a normal end */
        void play(Random random, int thread) throws Exception;
    }

    /** @param kindName {@code platform} or {@code virtual}; the test is skipped if this JDK has no such threads */
    Storm(String purpose, String kindName) {
        ThreadKind found = null;
        for (ThreadKind one : ThreadKind.all()) {
            found = one.name().contains(kindName) ? one : found;
        }
        assumeTrue(found != null, "Only for a JDK with " + kindName + " threads: 21 or newer");
        this.kind = found;
        this.seed = Seeds.of(purpose + kindName);
        System.out.println("Storm \"" + purpose + "\" on " + kind + ", seed " + seed);
    }

    /** Runs the rounds, and throws the failure of any of them. */
    void rage(int rounds, Round round) {
        List<Thread> threads = new ArrayList<>();
        List<CompletableFuture<Void>> ends = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            int number = i;
            CompletableFuture<Void> end = new CompletableFuture<>();
            ends.add(end);
            Thread thread = kind.factory().newThread(() -> {
                try {
                    Random random = new Random(seed + number);
                    for (int n = 0; n < rounds; n++) {
                        play(round, random, number);
                    }
                    end.complete(null);
                } catch (Throwable failure) {
                    end.completeExceptionally(failure);
                }
            });
            thread.setName("storm-" + i);
            threads.add(thread);
        }
        threads.forEach(Thread::start);
        interrupt(threads, CompletableFuture.allOf(ends.toArray(new CompletableFuture<?>[0])));
        for (CompletableFuture<Void> end : ends) {
            Actor.end(end);
        }
    }

    private static void play(Round round, Random random, int thread) throws Exception {
        try {
            round.play(random, thread);
        } catch (InterruptedException asGoodAsAnyEnd) {
            // The next round begins with the interrupt flag cleared.
        }
        // In half of the rounds the interrupt flag stays set, so the next round begins with it.
        if (random.nextBoolean()) {
            Thread.interrupted();
        }
    }

    private void interrupt(List<Thread> threads, CompletableFuture<Void> allEnded) {
        Random random = new Random(seed);
        long begun = System.nanoTime();
        while (!allEnded.isDone()) {
            threads.get(random.nextInt(threads.size())).interrupt();
            LockSupport.parkNanos(random.nextInt((int) LONGEST_GAP_NANOS));
            if (System.nanoTime() - begun > TimeUnit.SECONDS.toNanos(Wait.LONGEST_SECONDS)) {
                throw new AssertionError("The storm does not end, seed " + seed + "\n" + Wait.threads());
            }
        }
    }
}
