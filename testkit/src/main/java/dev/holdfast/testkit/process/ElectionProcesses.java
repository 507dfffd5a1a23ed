package dev.holdfast.testkit.process;

import dev.holdfast.Holdfast;
import dev.holdfast.election.Election;
import dev.holdfast.election.ElectionOptions;
import dev.holdfast.election.Term;
import dev.holdfast.testkit.HistoryChecker;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Five processes that stand for one election, while those that lead are frozen, killed, cut off from the store, and asked to resign.
 * Each writes down between which times of the machine's clock it knew that it led. No two such times overlap, tokens never fall,
 * also not as an observer sees them, the next one leads within the bound that the documentation states, and whoever was frozen or
 * cut off stands again.
 *
 * <p>One round of all this is run, or {@code -Dholdfast.election.rounds=NUMBER}, with longer leases.
 *
 * <p>Used by one thread.
 */
public final class ElectionProcesses implements AutoCloseable {

    /** The system property with the number of rounds. */
    public static final String ROUNDS = "holdfast.election.rounds";

    private static final int PROCESSES = 5;
    private static final String NAME = "processes";

    private static final List<String> SMALL = List.of("-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1");

    /** How long it may take until processes have started, or stand again. It is long, for machines that have much else to do. */
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /** What requests and busy processes may add to a bound. The lease of a long run is longer. */
    private static final Duration TRIPS = Duration.ofSeconds(5);

    private static final Duration SHORT_LEASE = Duration.ofSeconds(2);
    private static final Duration LONG_LEASE = Duration.ofSeconds(10);

    private static final Duration OBSERVE_EVERY = Duration.ofMillis(100);
    private static final long LOOK_NANOS = 10_000_000;

    /** A process; without a proxy if its store is a file. */
    private record Member(
            String id,
            ChildJvm process,
            Terms terms,
            @Nullable FaultProxy proxy) {

        private void end() {
            process.close();
            if (proxy != null) {
                proxy.close();
            }
        }
    }

    /** The terms that one process has written down. What was read before is not read again. */
    private static final class Terms {

        private final String owner;
        private final Path file;
        private final Map<Long, HistoryChecker.Hold> byToken = new HashMap<>();
        private long read;

        private Terms(String owner, Path file) {
            this.owner = owner;
            this.file = file;
        }

        private Collection<HistoryChecker.Hold> read() {
            try (RandomAccessFile in = new RandomAccessFile(file.toFile(), "r")) {
                in.seek(read);
                byte[] bytes = new byte[Math.toIntExact(in.length() - read)];
                in.readFully(bytes);
                String text = new String(bytes, StandardCharsets.US_ASCII);
                // A process that is killed may be about to write a line.
                int complete = text.lastIndexOf('\n') + 1;
                read += complete;
                text.substring(0, complete).lines().forEach(this::add);
            } catch (FileNotFoundException notYet) {
                return List.of();
            } catch (IOException failure) {
                throw new UncheckedIOException(failure);
            }
            return byToken.values();
        }

        // The last line of a term says how long it was.
        private void add(String line) {
            String[] words = line.split(" ", -1);
            long from = Long.parseLong(words[1]);
            HistoryChecker.Hold term = new HistoryChecker.Hold(
                    owner,
                    1,
                    Long.parseLong(words[0]),
                    from,
                    HistoryChecker.NEVER_QUEUED,
                    from,
                    Long.parseLong(words[2]));
            byToken.put(term.token(), term);
        }
    }

    private final Path folder;
    private final IntFunction<String> url;
    private final int port;
    private final Duration bound;
    private final Holdfast locks;
    private final Election observer;
    private final List<Long> observed = new CopyOnWriteArrayList<>();
    private final List<Member> members = new ArrayList<>();
    /** The terms of processes that were killed, too. */
    private final List<Member> all = new ArrayList<>();

    private ElectionProcesses(Path folder, int port, IntFunction<String> url, Duration bound) {
        this.folder = folder;
        this.port = port;
        this.url = url;
        this.bound = bound;
        this.locks = Connecting.to(url.apply(port));
        this.observer = locks.election(NAME, ElectionOptions.defaults().withObserveEvery(OBSERVE_EVERY));
        boolean ready = false;
        try {
            observer.observe(leader -> leader.ifPresent(one -> observed.add(one.token())));
            for (int i = 0; i < PROCESSES; i++) {
                add();
            }
            awaitLeaderAfter(0);
            ready = true;
        } finally {
            if (!ready) {
                close();
            }
        }
    }

    /** Processes on a store that is a file, from which nobody is cut off. The next one is to lead within {@link #lease}. */
    public static ElectionProcesses onFile(Path folder, String url) {
        return new ElectionProcesses(folder, 0, port -> url, lease());
    }

    /**
     * Processes on a server of this machine.
     *
     * @param folder in which they write
     * @param port that of the server
     * @param url the URL of the store, with a port that leads to the server
     * @param bound within which the next one leads after a leader has vanished, but for the trips
     */
    public static ElectionProcesses onServer(Path folder, int port, IntFunction<String> url, Duration bound) {
        return new ElectionProcesses(folder, port, url, bound);
    }

    /** The lease of all candidates. */
    public static Duration lease() {
        return Integer.getInteger(ROUNDS) == null ? SHORT_LEASE : LONG_LEASE;
    }

    private void add() {
        String id = "candidate-" + all.size();
        Path terms = folder.resolve(id);
        FaultProxy proxy = port == 0 ? null : new FaultProxy(port);
        ChildJvm process = ChildJvm.start(
                SMALL,
                Candidate.class,
                url.apply(proxy == null ? 0 : proxy.port()),
                lease().toString(),
                id,
                terms.toString());
        Member member = new Member(id, process, new Terms(process.toString(), terms), proxy);
        members.add(member);
        all.add(member);
    }

    /** Does all of it to those who lead, and checks what came out. */
    public void disturbLeaders() {
        for (int round = 0; round < Integer.getInteger(ROUNDS, 1); round++) {
            disturb("was frozen", leader -> leader.process().pause(), bound);
            disturb("was killed", leader -> leader.process().kill(), bound);
            if (port != 0) {
                disturb("was cut off", leader -> proxy(leader).silence(), bound);
            }
            disturb("has resigned", leader -> leader.process().send("resign"), Duration.ZERO);
        }
        awaitAllStand();
        history().check();
        if (!observed.equals(observed.stream().sorted().toList())) {
            throw new AssertionError("An observer saw tokens fall: " + observed);
        }
    }

    private static FaultProxy proxy(Member one) {
        return Objects.requireNonNull(one.proxy(), "its store is a file");
    }

    private void disturb(String what, Consumer<Member> disturbance, Duration within) {
        awaitAllStand();
        HistoryChecker.Hold last = newest();
        Member leader = leader(last);
        disturbance.accept(leader);
        long done = System.nanoTime();
        HistoryChecker.Hold next = awaitLeaderAfter(last.token());
        Duration took = Duration.ofNanos(next.from() - done);
        System.out.println("A leader " + what + "; the next one led after " + took.toMillis() + " ms, with a lease of "
                + lease().toMillis() + " ms");
        if (took.compareTo(within.plus(TRIPS)) > 0) {
            throw new AssertionError("A leader " + what + ", and the next one led only after " + took
                    + ", which is more than " + within + " and the trips: " + next + " after " + last);
        }
        if (!leader.process().isAlive()) {
            members.remove(leader);
            add();
            return;
        }
        leader.process().resume();
        if (leader.proxy() != null) {
            leader.proxy().heal();
        }
    }

    /** Waits until all that live take part, as the store sees it. */
    private void awaitAllStand() {
        Set<String> expected = members.stream().map(Member::id).collect(Collectors.toSet());
        long giveUp = System.nanoTime() + PATIENCE.toNanos();
        for (Set<String> standing = standing(); !standing.equals(expected); standing = standing()) {
            if (System.nanoTime() - giveUp > 0) {
                throw new AssertionError(standing + " take part, and not " + expected + ". "
                        + members.stream()
                                .map(one -> one.process().lastOutput())
                                .toList());
            }
            LockSupport.parkNanos(LOOK_NANOS);
        }
    }

    private Set<String> standing() {
        return observer.candidates().stream()
                .map(dev.holdfast.election.Candidate::id)
                .collect(Collectors.toSet());
    }

    private HistoryChecker.Hold awaitLeaderAfter(long token) {
        long giveUp = System.nanoTime() + PATIENCE.toNanos();
        while (true) {
            // The first one: there may be another soon after it.
            Optional<HistoryChecker.Hold> found = terms().stream()
                    .filter(term -> term.token() > token)
                    .min(Comparator.comparingLong(HistoryChecker.Hold::token));
            if (found.isPresent()) {
                return found.get();
            }
            if (System.nanoTime() - giveUp > 0) {
                throw new AssertionError("No leader within " + PATIENCE + " after the term with token " + token + ". "
                        + members.stream()
                                .map(one -> one.process().lastOutput())
                                .toList());
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

    private HistoryChecker.Hold newest() {
        return terms().stream()
                .max(Comparator.comparingLong(HistoryChecker.Hold::token))
                .orElseThrow();
    }

    // All terms so far, each as long as its leader knew of it.
    private HistoryChecker history() {
        HistoryChecker history = new HistoryChecker(1);
        terms().forEach(history::add);
        return history;
    }

    private List<HistoryChecker.Hold> terms() {
        return all.stream().flatMap(one -> one.terms().read().stream()).toList();
    }

    @Override
    public void close() {
        members.forEach(Member::end);
        observer.close();
        locks.close();
    }

    /** The main class of each process. It ends when its standard input is closed. */
    static final class Candidate {

        private static final long SAMPLE_NANOS = 5_000_000;

        private Candidate() {}

        public static void main(String[] arguments) throws IOException, InterruptedException {
            ElectionOptions options = ElectionOptions.defaults()
                    .withLease(Duration.parse(arguments[1]))
                    .withId(arguments[2]);
            try (Holdfast locks = Connecting.to(arguments[0]);
                    Election election = locks.election(NAME, options);
                    Writer out = Files.newBufferedWriter(Path.of(arguments[3]))) {
                Thread input = new Thread(() -> resignOnInput(election));
                input.setDaemon(true);
                input.start();
                election.start();
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
