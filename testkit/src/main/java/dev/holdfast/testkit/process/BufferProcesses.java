package dev.holdfast.testkit.process;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.LockException;
import dev.holdfast.LockOptions;
import dev.holdfast.testkit.Seeds;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;

/**
 * Three producers and three consumers, each a process, move items through a bounded buffer that one lock with two shared conditions
 * guards, while members are killed and frozen. The buffer is kept by the test, which each of them asks by its standard output.
 *
 * <p>A member that holds the lock is frozen until others have gone on without it, and another one is killed meanwhile: so a stale
 * write is attempted, and a place in a wait set, or a signal, is lost with its process. A member in the midst of its turn is killed
 * in a long run, too. Used by one thread.
 */
public final class BufferProcesses implements AutoCloseable {

    /** The system property that sets how many items are moved; the whole test has 10,000. */
    public static final String ITEMS = "holdfast.buffer.items";

    private static final int FEW_ITEMS = 100;
    private static final int MEMBERS_OF_A_KIND = 3;
    private static final int CAPACITY = 5;

    /** One member is frozen or killed in so many items of a long run; once in a short one. */
    private static final int ITEMS_FOR_EACH_DISTURBANCE = 500;

    private static final List<String> SMALL = List.of("-Xmx64m");

    /** Longer than a wait for a condition may take, and a lease and the start of a JVM with it. */
    private static final Duration PATIENCE = Duration.ofSeconds(90);

    private static final long LOOK_NANOS = 2_000_000;

    private final String url;
    private final Duration lease;
    private final BoundedBuffer buffer;
    private final long items;
    private final Random random = new Random(Seeds.of("buffer"));
    private final List<Member> members = new ArrayList<>();
    /** What is done to the next member that has read the buffer, holds the lock, and is about to write. */
    private final AtomicReference<@Nullable Ambush> ambush = new AtomicReference<>();

    private final CompletableFuture<Void> failure = new CompletableFuture<>();

    /** One of the processes, with a thread that answers it. */
    private final class Member {
        private final ChildJvm process;
        private final boolean consumes;
        private volatile boolean ended;

        private Member(boolean consumes) {
            this.consumes = consumes;
            this.process = ChildJvm.startSmall(
                    SMALL, User.class, url, lease.toString(), consumes ? User.CONSUMER : User.PRODUCER);
            Thread answering = new Thread(this::answerAll, "answers to " + process.pid());
            answering.setDaemon(true);
            answering.start();
        }

        private void answerAll() {
            try {
                while (true) {
                    answer(process.readLine(PATIENCE).split(" ", -1));
                }
            } catch (Throwable end) {
                if (!ended) {
                    failure.completeExceptionally(end);
                }
            }
        }

        private void answer(String[] words) {
            if (words[0].equals("READ")) {
                BoundedBuffer.Counts now = buffer.read(Long.parseLong(words[1]));
                if (now == null) {
                    process.send("0 0 " + User.STALE);
                    return;
                }
                long there = now.put() - now.taken();
                boolean canAct = consumes ? there > 0 : there < CAPACITY && now.put() < items;
                // One that will only wait again would not write anything.
                Ambush waiting = canAct ? ambush.getAndSet(null) : null;
                if (waiting != null) {
                    waiting.spring(this);
                }
                process.send(now.put() + " " + now.taken() + " " + canAct);
            } else if (words[0].equals("WRITE")) {
                BoundedBuffer.Counts next =
                        new BoundedBuffer.Counts(Long.parseLong(words[2]), Long.parseLong(words[3]));
                process.send(Boolean.toString(buffer.write(Long.parseLong(words[1]), next, consumes)));
            }
        }

        private void kill() {
            ended = true;
            process.close();
        }
    }

    /** Waits for a member that holds the lock. */
    private record Ambush(boolean kills, CompletableFuture<Member> caught) {

        private void spring(Member holder) {
            if (kills) {
                holder.kill();
            } else {
                holder.process.pause();
            }
            caught.complete(holder);
        }
    }

    /**
     * Starts the processes.
     *
     * @param url their store
     * @param lease of the lock; on stores with sessions, those of the URL matter instead
     */
    public BufferProcesses(String url, Duration lease) {
        this(url, lease, true);
    }

    /** @param isFenced whether the buffer refuses stale tokens; if not, {@link #move} must fail */
    public BufferProcesses(String url, Duration lease, boolean isFenced) {
        this.url = url;
        this.lease = lease;
        this.buffer = new BoundedBuffer(isFenced);
        // Few are enough to find this fault, and a stale write lets the members move the same items again.
        this.items = isFenced ? Integer.getInteger(ITEMS, FEW_ITEMS) : FEW_ITEMS;
        for (int i = 0; i < 2 * MEMBERS_OF_A_KIND; i++) {
            members.add(new Member(i % 2 == 0));
        }
    }

    /** Moves all items, and checks that each was put in once, and taken once, in the order in which they were put in. */
    public void move() {
        await(() -> buffer.writes() > 2 * CAPACITY, "the first items were not moved");
        long begun = System.nanoTime();
        long disturbances = Math.max(1, items / ITEMS_FOR_EACH_DISTURBANCE);
        for (int i = 0; i < disturbances; i++) {
            long from = i * (items / (disturbances + 1));
            awaitMoved(from);
            if (i % 2 == 0) {
                freezeAHolderAndKillAnother();
            } else {
                replace(caught(true));
            }
        }
        awaitMoved(items);
        long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);
        System.out.println(items + " items through a buffer for " + CAPACITY + ", in " + millis + " ms with "
                + disturbances + " disturbances; " + buffer.stale() + " writes with stale tokens");
        assertThat(buffer.log())
                .as("items taken")
                .isEqualTo(LongStream.rangeClosed(1, items).boxed().toList());
        // A put that another one has overwritten is lost, and cannot be seen in what was taken.
        assertThat(buffer.writes()).as("items put and taken").isEqualTo(2 * items);
    }

    private void awaitMoved(long count) {
        for (long moved = buffer.read().taken();
                moved < count;
                moved = buffer.read().taken()) {
            long before = moved;
            await(() -> buffer.read().taken() != before, "nothing was taken after item " + before);
        }
    }

    private void freezeAHolderAndKillAnother() {
        Member frozen = caught(false);
        int before = buffer.writes();
        Member other = frozen;
        while (other == frozen) {
            other = members.get(random.nextInt(members.size()));
        }
        other.kill();
        replace(other);
        await(() -> buffer.writes() > before, "nobody went on after a holder was frozen");
        int stale = buffer.stale();
        frozen.process.resume();
        await(() -> buffer.stale() > stale, "the frozen holder did not write when it went on");
    }

    private Member caught(boolean kills) {
        Ambush set = new Ambush(kills, new CompletableFuture<>());
        ambush.set(set);
        try {
            return set.caught().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        } catch (InterruptedException | ExecutionException | TimeoutException nobody) {
            throw new AssertionError("No member held the lock within " + PATIENCE, nobody);
        }
    }

    private void replace(Member killed) {
        members.set(members.indexOf(killed), new Member(killed.consumes));
    }

    private void await(BooleanSupplier condition, String otherwise) {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (!condition.getAsBoolean()) {
            if (failure.isCompletedExceptionally()) {
                failure.join();
            }
            if (System.nanoTime() - deadline > 0) {
                throw new AssertionError(otherwise + " within " + PATIENCE + ". " + lastOutputs());
            }
            LockSupport.parkNanos(LOOK_NANOS);
        }
    }

    private String lastOutputs() {
        StringBuilder all = new StringBuilder();
        members.forEach(member -> all.append(System.lineSeparator())
                .append(member.process)
                .append(": ")
                .append(member.process.lastOutput()));
        return all.toString();
    }

    @Override
    public void close() {
        members.forEach(Member::kill);
    }

    /** The main class of each process. It ends when its standard input is closed. */
    static final class User {

        static final String PRODUCER = "producer";
        static final String CONSUMER = "consumer";
        static final String STALE = "stale";

        private static final long AFTER_TROUBLE_NANOS = 20_000_000;

        private final BufferedReader answers =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        private final boolean consumes;
        private final DistributedLock lock;
        private final Condition canAct;
        private final Condition othersCanAct;

        private User(Holdfast locks, Duration lease, boolean consumes) {
            this.consumes = consumes;
            this.lock = locks.lock("buffer", LockOptions.defaults().withLease(lease));
            Condition notEmpty = lock.condition("not-empty");
            Condition notFull = lock.condition("not-full");
            this.canAct = consumes ? notEmpty : notFull;
            this.othersCanAct = consumes ? notFull : notEmpty;
        }

        public static void main(String[] arguments) throws IOException, InterruptedException {
            try (Holdfast locks = Connecting.to(arguments[0])) {
                User user = new User(locks, Duration.parse(arguments[1]), arguments[2].equals(CONSUMER));
                while (true) {
                    user.useInSpiteOfTrouble();
                }
            } catch (IOException closed) {
                Runtime.getRuntime().halt(0);
            }
        }

        private void useInSpiteOfTrouble() throws IOException, InterruptedException {
            try {
                use();
            } catch (LockException trouble) {
                System.err.println(trouble);
                LockSupport.parkNanos(AFTER_TROUBLE_NANOS);
            }
        }

        private void use() throws IOException, InterruptedException {
            lock.lock();
            try {
                String[] counts = ask("READ " + lock.token());
                while (!Boolean.parseBoolean(counts[2])) {
                    if (counts[2].equals(STALE)) {
                        return;
                    }
                    canAct.await();
                    counts = ask("READ " + lock.token());
                }
                long put = Long.parseLong(counts[0]) + (consumes ? 0 : 1);
                long taken = Long.parseLong(counts[1]) + (consumes ? 1 : 0);
                if (Boolean.parseBoolean(ask("WRITE " + lock.token() + " " + put + " " + taken)[0])) {
                    othersCanAct.signal();
                }
            } finally {
                // A wait that failed has left nothing to unlock.
                if (lock.holdCount() > 0) {
                    lock.unlock();
                }
            }
        }

        private String[] ask(String question) throws IOException {
            System.out.println(question);
            String answer = answers.readLine();
            if (answer == null) {
                throw new IOException("The test has ended");
            }
            return answer.split(" ", -1);
        }
    }
}
