package dev.holdfast.testkit.process;

import dev.holdfast.Holdfast;
import dev.holdfast.election.Election;
import dev.holdfast.election.ElectionOptions;
import dev.holdfast.election.Term;
import dev.holdfast.testkit.HistoryChecker;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Processes that stand for one election, while a test kills and freezes those that lead. Each writes down between which times of
 * the machine's clock it knew that it led; {@link #history} collects all of that.
 *
 * <p>Used by one thread.
 */
public final class ElectionProcesses implements AutoCloseable {

    private static final List<String> SMALL = List.of("-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1");

    /** How long it may take until there is another leader. It is long, for machines that have much else to do. */
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private static final long LOOK_NANOS = 10_000_000;

    private record Member(ChildJvm process, Path terms) {}

    private final Path folder;
    private final String url;
    private final Duration lease;
    private final List<Member> members = new ArrayList<>();
    /** The terms of processes that were killed, too. */
    private final List<Member> all = new ArrayList<>();

    /**
     * Starts processes, and returns when one leads and all stand.
     *
     * @param folder in which they write
     * @param url their store
     */
    public ElectionProcesses(int count, Path folder, String url, Duration lease) {
        this.folder = folder;
        this.url = url;
        this.lease = lease;
        boolean ready = false;
        try {
            for (int i = 0; i < count; i++) {
                add();
            }
            members.forEach(one -> one.process().expect("READY", PATIENCE));
            awaitLeaderAfter(0);
            ready = true;
        } finally {
            if (!ready) {
                close();
            }
        }
    }

    private void add() {
        Path terms = folder.resolve("terms-" + all.size());
        ChildJvm process = ChildJvm.start(
                SMALL, Candidate.class, url, lease.toString(), "candidate-" + all.size(), terms.toString());
        members.add(new Member(process, terms));
        all.add(members.get(members.size() - 1));
    }

    /** Kills the leader, waits for the next one, and puts another process in its place. */
    public void killLeader() {
        HistoryChecker.Hold last = newest().orElseThrow();
        Member leader = leader(last);
        leader.process().kill();
        members.remove(leader);
        report("was killed", last);
        add();
    }

    /** Freezes the leader, waits for the next one, and lets the old one go on. */
    public void freezeLeader() {
        HistoryChecker.Hold last = newest().orElseThrow();
        Member leader = leader(last);
        leader.process().pause();
        report("was frozen", last);
        leader.process().resume();
    }

    /** Lets the leader resign, and waits for the next one. */
    public void resignLeader() {
        HistoryChecker.Hold last = newest().orElseThrow();
        leader(last).process().send("resign");
        report("has resigned", last);
    }

    private void report(String what, HistoryChecker.Hold last) {
        HistoryChecker.Hold next = awaitLeaderAfter(last.token());
        // The old leader may have written more since it was looked at.
        long end = terms().stream()
                .filter(term -> term.token() == last.token())
                .mapToLong(HistoryChecker.Hold::to)
                .max()
                .orElseThrow();
        System.out.println("A leader " + what + "; the next one led "
                + TimeUnit.NANOSECONDS.toMillis(next.from() - end) + " ms after its last sign, with a lease of "
                + lease.toMillis() + " ms");
    }

    private HistoryChecker.Hold awaitLeaderAfter(long token) {
        long giveUp = System.nanoTime() + PATIENCE.toNanos();
        while (true) {
            Optional<HistoryChecker.Hold> found = newest().filter(term -> term.token() > token);
            if (found.isPresent()) {
                return found.get();
            }
            if (System.nanoTime() - giveUp > 0) {
                throw new AssertionError("No leader within " + PATIENCE + " after the term with token " + token);
            }
            LockSupport.parkNanos(LOOK_NANOS);
        }
    }

    private Member leader(HistoryChecker.Hold term) {
        return members.stream()
                .filter(one -> one.process().toString().equals(term.owner()))
                .findFirst()
                .orElseThrow();
    }

    private Optional<HistoryChecker.Hold> newest() {
        return terms().stream().reduce((one, other) -> one.token() >= other.token() ? one : other);
    }

    /** All terms so far, each as long as its leader knew of it, for the check that no two of them overlap. */
    public HistoryChecker history() {
        HistoryChecker history = new HistoryChecker(1);
        terms().forEach(history::add);
        return history;
    }

    private List<HistoryChecker.Hold> terms() {
        return all.stream().flatMap(one -> termsOf(one).stream()).toList();
    }

    private static List<HistoryChecker.Hold> termsOf(Member one) {
        Map<Long, HistoryChecker.Hold> terms = new HashMap<>();
        for (String line : completeLines(one.terms())) {
            String[] words = line.split(" ", -1);
            HistoryChecker.Hold hold = new HistoryChecker.Hold(
                    one.process().toString(),
                    1,
                    Long.parseLong(words[0]),
                    Long.parseLong(words[1]),
                    HistoryChecker.NEVER_QUEUED,
                    Long.parseLong(words[1]),
                    Long.parseLong(words[2]));
            // The last line of a term says how long it was.
            terms.put(hold.token(), hold);
        }
        return List.copyOf(terms.values());
    }

    // A process that was killed may have been about to write a line.
    private static List<String> completeLines(Path file) {
        try {
            String text = Files.exists(file) ? Files.readString(file) : "";
            return text.substring(0, text.lastIndexOf('\n') + 1).lines().toList();
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    @Override
    public void close() {
        members.forEach(one -> one.process().close());
    }

    /** The main class of each process. It ends when its standard input is closed. */
    static final class Candidate {

        private static final long SAMPLE_NANOS = 5_000_000;

        private Candidate() {}

        public static void main(String[] arguments) throws IOException, InterruptedException {
            ElectionOptions options = ElectionOptions.defaults()
                    .withLease(Duration.parse(arguments[1]))
                    .withId(arguments[2]);
            try (Holdfast locks = Holdfast.connect(arguments[0]);
                    Election election = locks.election("processes", options);
                    Writer out = Files.newBufferedWriter(Path.of(arguments[3]))) {
                Thread input = new Thread(() -> resignOnInput(election));
                input.setDaemon(true);
                input.start();
                election.start();
                System.out.println("READY");
                while (true) {
                    Optional<Term> term = election.awaitTerm(Duration.ofSeconds(1));
                    if (term.isPresent()) {
                        lead(term.get(), out);
                    }
                }
            }
        }

        // A term is certainly valid from after the first check that found it so until before the last one.
        private static void lead(Term term, Writer out) throws IOException {
            boolean valid = term.isValid();
            long from = System.nanoTime();
            while (valid) {
                long to = System.nanoTime();
                valid = term.isValid();
                if (valid) {
                    out.write(term.token() + " " + from + " " + to + "\n");
                    out.flush();
                }
                LockSupport.parkNanos(SAMPLE_NANOS);
            }
        }

        private static void resignOnInput(Election election) {
            try {
                for (int read = System.in.read(); read >= 0; read = System.in.read()) {
                    if (read == '\n') {
                        election.resign();
                    }
                }
            } catch (IOException closed) {
                // As if it had ended.
            }
            Runtime.getRuntime().halt(0);
        }
    }
}
