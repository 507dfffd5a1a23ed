package dev.holdfast.testkit.nemesis;

import dev.holdfast.testkit.HistoryChecker;
import dev.holdfast.testkit.process.ChildJvm;
import dev.holdfast.testkit.process.FaultProxy;
import dev.holdfast.testkit.process.NetworkNamespace;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * One process that adds to the set, with its own line to the server and a thread that answers it. Thread-safe.
 */
final class Member {

    /** Nobody is silent for so long: the longest fault, a wait in the store, and the start of a JVM. */
    static final Duration PATIENCE = Duration.ofSeconds(90);

    private static final List<String> SMALL = List.of("-Xmx64m");

    private final ChildJvm process;
    private final @Nullable Line line;
    private final SharedSet set;
    private final HistoryChecker history;
    private final Events events;
    /** Whether a fault is being done to it. */
    private final AtomicBoolean afflicted = new AtomicBoolean();

    private volatile String lastTrouble = "none";
    private volatile long lastSpoken;
    private volatile long lastAdded;
    private volatile boolean hasAdded;
    private final AtomicBoolean ended = new AtomicBoolean();
    /** The hold that has begun; used by the answering thread only. */
    private HistoryChecker.@Nullable Hold open;

    /** What its answering thread reports. */
    interface Events {

        /** It has read the set under the lock, and is not answered yet. */
        void afterRead(Member holder);

        /** An error of the library's. */
        void trouble();

        /** It has ended by itself, or was silent for too long. */
        void failed(Throwable cause);
    }

    /** Starts the process. */
    Member(Scenario scenario, SharedSet set, HistoryChecker history, Events events) {
        this.set = set;
        this.history = history;
        this.events = events;
        TargetServer server = scenario.server();
        this.line = server == null ? null : new Line(server.server(), scenario.isPartitioned());
        this.process = ChildJvm.startSmallBehind(
                line == null ? List.of() : line.prefix(),
                SMALL,
                Adder.class,
                line == null ? scenario.url(0) : line.url(scenario),
                scenario.lease().toString(),
                scenario.longTurn().toString());
        Thread answering = new Thread(this::answerAll, "answers to " + process.pid());
        answering.setDaemon(true);
        answering.start();
    }

    private void answerAll() {
        try {
            while (true) {
                String said = process.readLine(PATIENCE);
                answer(said, said.split(" ", -1));
                lastSpoken = System.nanoTime();
            }
        } catch (Throwable end) {
            close(open);
            if (!ended.get()) {
                events.failed(end);
            }
        }
    }

    private void answer(String said, String[] words) {
        switch (words[0]) {
            case "READ" -> read(words);
            case "WRITE" -> write(words);
            case "HELD" -> {
                lasted(Long.parseLong(words[2]));
                close(open);
            }
            case "TROUBLE" -> {
                close(open);
                events.trouble();
                lastTrouble = said;
            }
            default -> throw new AssertionError(process + " printed: " + said);
        }
    }

    private void read(String[] words) {
        close(open);
        long token = Long.parseLong(words[2]);
        long asked = Long.parseLong(words[3]);
        long from = Long.parseLong(words[4]);
        open = new HistoryChecker.Hold(toString(), 1, token, asked, HistoryChecker.NEVER_QUEUED, from, from);
        lasted(Long.parseLong(words[5]));
        Integer version = set.read(token);
        if (version != null) {
            events.afterRead(this);
        }
        process.send(words[1] + " " + (version == null ? Adder.STALE : version));
    }

    private void write(String[] words) {
        lasted(Long.parseLong(words[3]));
        boolean written = set.write(Long.parseLong(words[2]), Integer.parseInt(words[4]));
        if (written) {
            lastAdded = System.nanoTime();
            hasAdded = true;
        }
        process.send(words[1] + " " + written);
    }

    private void lasted(long to) {
        HistoryChecker.Hold begun = open;
        if (begun != null) {
            open = new HistoryChecker.Hold(
                    begun.owner(),
                    begun.permits(),
                    begun.token(),
                    begun.asked(),
                    begun.queued(),
                    begun.from(),
                    Math.max(begun.to(), to));
        }
    }

    // One that was over when its owner learned of it has held nothing. Its token counts in any case, and an empty
    // interval does.
    private void close(HistoryChecker.@Nullable Hold hold) {
        if (hold != null) {
            history.add(hold);
        }
        open = null;
    }

    /** Whether it works as it should as far as anybody knows: it has added something, and no fault is being done to it. */
    boolean isWell() {
        return hasAdded && !afflicted.get();
    }

    boolean isAfflicted() {
        return afflicted.get();
    }

    /** Marks it as one to which a fault is done, unless it is that already. */
    boolean afflict() {
        return afflicted.compareAndSet(false, true);
    }

    void recovered() {
        afflicted.set(false);
    }

    /** Whether it has said something, and was answered, after this time of {@link System#nanoTime}. */
    boolean hasSpokenSince(long time) {
        return lastSpoken - time > 0;
    }

    /** Whether it has added something after this time of {@link System#nanoTime}. */
    boolean hasAddedSince(long time) {
        return hasAdded && lastAdded - time > 0;
    }

    long pid() {
        return process.pid();
    }

    FaultProxy line() {
        return required().proxy();
    }

    NetworkNamespace network() {
        return required().network();
    }

    private Line required() {
        return Objects.requireNonNull(line, "The store is a file, to which there is no line");
    }

    /** Ends its connections, if it has a line. */
    void endConnections() {
        if (line != null) {
            line.proxy().endConnections();
        }
    }

    /** Takes all memory of the process for a time. */
    void takeMemory(long nanos) {
        process.send(MemoryHog.ORDER + TimeUnit.NANOSECONDS.toMillis(nanos));
    }

    void freeze() {
        process.pause();
    }

    void thaw() {
        process.resume();
    }

    /** Kills it. Its answering thread may do this, too. */
    void end() {
        if (!ended.getAndSet(true)) {
            process.close();
            if (line != null) {
                line.close();
            }
        }
    }

    /** What it said last, for messages of failures. */
    String lastWords() {
        return process + ": last trouble: " + lastTrouble + ". " + process.lastOutput();
    }

    @Override
    public String toString() {
        return process.toString();
    }
}
