package dev.holdfast.testkit.nemesis;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockException;
import dev.holdfast.LockOptions;
import dev.holdfast.LockTimeoutException;
import java.io.BufferedReader;
import java.io.File;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/**
 * The main class of each process of a {@link FaultRun}: takes the lock, reads the set, works for a while, and writes the set with
 * one element more, again and again. It asks the test by its standard output, and is answered on its standard input:
 *
 * <pre>
 *   READ NUMBER TOKEN ASKED FROM TO     NUMBER, and that of a version or STALE
 *   WRITE NUMBER TOKEN TO VERSION       NUMBER, and true, or false if the token is stale
 *   HELD TOKEN TO                       no answer: the hold is over
 *   TROUBLE MESSAGE                     no answer
 * </pre>
 *
 * <p>{@code TO} is when it knew last that it held. It never looks whether it still holds before it writes, as nobody can do that
 * in the same moment. {@code MEMORY MILLIS} on its input takes all memory of its JVM for this time. It ends with its input.
 */
final class Adder {

    static final String LOCK = "set";
    static final String STALE = "STALE";

    private static final long LONGEST_WORK_NANOS = TimeUnit.MILLISECONDS.toNanos(15);
    private static final int LONGEST_REST_MILLIS = 10;

    /** One turn in so many is a long one, if the scenario has such. */
    private static final int TURNS_FOR_EACH_LONG = 4;

    /** How exactly it is known when a hold was lost in the midst of a turn. */
    private static final long LOOK_NANOS = 2_000_000;

    private static final long AFTER_TROUBLE_NANOS = 20_000_000;

    /** One turn in so many waits for a limited time only. */
    private static final int TURNS_FOR_EACH_LIMITED = 4;

    private static final int LONGEST_WAIT_MILLIS = 500;

    /** Without a buffer: whatever happens to a thread, a line is written as a whole or not at all. */
    private static final OutputStream OUT = new FileOutputStream(FileDescriptor.out);

    /** The longest time for an answer, unless this process is frozen. Then one was lost for want of memory. */
    private static final long ANSWER_SECONDS = 20;

    private final BlockingQueue<String> answers;
    private final DistributedLock lock;
    private final Duration longTurn;
    private long questions;

    private Adder(BlockingQueue<String> answers, DistributedLock lock, Duration longTurn) {
        this.answers = answers;
        this.lock = lock;
        this.longTurn = longTurn;
    }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        BlockingQueue<String> answers = new LinkedBlockingQueue<>();
        Thread reader = new Thread(() -> readInput(answers), "input");
        reader.setDaemon(true);
        reader.start();
        loadClassesOfFolders();
        LockOptions options = LockOptions.defaults().withLease(Duration.parse(arguments[1]));
        try (Holdfast locks = connect(arguments[0])) {
            Adder adder = new Adder(answers, locks.lock(LOCK, options), Duration.parse(arguments[2]));
            while (true) {
                adder.addInSpiteOfTrouble();
                rest(LONGEST_REST_MILLIS);
            }
        }
    }

    // A class in a folder, which is where those of a build are, needs a file handle when it is used first. Programs
    // have jars.
    private static void loadClassesOfFolders() throws IOException {
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
            Path folder = Path.of(entry);
            if (!entry.contains("test-classes") && Files.isDirectory(folder)) {
                try (Stream<Path> files = Files.walk(folder)) {
                    files.map(file -> folder.relativize(file).toString())
                            .filter(name -> name.endsWith(".class"))
                            .forEach(Adder::load);
                }
            }
        }
    }

    private static void load(String file) {
        String name = file.substring(0, file.length() - ".class".length()).replace(File.separatorChar, '.');
        try {
            Class.forName(name, false, Adder.class.getClassLoader());
        } catch (ClassNotFoundException | LinkageError ofAnotherLibrary) {
            // It needs one that is not there, so it is not used.
        }
    }

    private static void readInput(BlockingQueue<String> answers) {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        while (true) {
            try {
                String line = input.readLine();
                if (line == null) {
                    Runtime.getRuntime().halt(0);
                } else if (line.startsWith(MemoryHog.ORDER)) {
                    new MemoryHog(line).start();
                } else {
                    answers.add(line);
                }
            } catch (OutOfMemoryError lost) {
                // The answer, if it was one, is not waited for any more after a while.
                Thread.onSpinWait();
            } catch (IOException closed) {
                Runtime.getRuntime().halt(0);
            }
        }
    }

    // The server may just be away. The test gives up when it has to.
    private static Holdfast connect(String url) throws IOException {
        while (true) {
            try {
                return Holdfast.connect(url);
            } catch (LockException outage) {
                say("TROUBLE " + outage);
                LockSupport.parkNanos(AFTER_TROUBLE_NANOS);
            }
        }
    }

    private void addInSpiteOfTrouble() throws IOException, InterruptedException {
        try {
            add();
        } catch (LockTimeoutException limited) {
            // The others were quicker.
            LockSupport.parkNanos(1);
        } catch (LockException | OutOfMemoryError trouble) {
            LockSupport.parkNanos(AFTER_TROUBLE_NANOS);
            sayTrouble(trouble);
        }
    }

    private static void sayTrouble(Throwable trouble) throws IOException {
        try {
            say("TROUBLE " + trouble);
        } catch (OutOfMemoryError stillNone) {
            // It is only for people.
            LockSupport.parkNanos(AFTER_TROUBLE_NANOS);
        }
    }

    private void add() throws IOException, InterruptedException {
        long asked = System.nanoTime();
        try (Lease lease = acquired()) {
            long from = System.nanoTime();
            String version = ask("READ", lease.token() + " " + asked + " " + from + " " + lastHeld(lease, from));
            if (version.equals(STALE)) {
                return;
            }
            long held = work(lease, from);
            ask("WRITE", lease.token() + " " + lastHeld(lease, held) + " " + version);
            say("HELD " + lease.token() + " " + lastHeld(lease, held));
        }
    }

    private Lease acquired() throws InterruptedException {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        return random.nextInt(TURNS_FOR_EACH_LIMITED) > 0
                ? lock.acquire()
                : lock.acquire(Duration.ofMillis(random.nextInt(1, LONGEST_WAIT_MILLIS)));
    }

    /** Returns when it knew last that it held. */
    private long work(Lease lease, long from) {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        boolean isLong = !longTurn.isZero() && random.nextInt(TURNS_FOR_EACH_LONG) == 0;
        long end = System.nanoTime() + random.nextLong(isLong ? longTurn.toNanos() : LONGEST_WORK_NANOS);
        long held = from;
        for (long left = end - System.nanoTime(); left > 0; left = end - System.nanoTime()) {
            held = lastHeld(lease, held);
            LockSupport.parkNanos(Math.min(left, LOOK_NANOS));
        }
        return held;
    }

    // The time is read before the look at the lease: whatever happens in between, it was held at that time.
    private static long lastHeld(Lease lease, long from) {
        long now = System.nanoTime();
        return lease.isValid() ? now : from;
    }

    private static void rest(int longestMillis) {
        LockSupport.parkNanos(
                TimeUnit.MILLISECONDS.toNanos(ThreadLocalRandom.current().nextInt(longestMillis)));
    }

    // An answer to an earlier question may come late, if there was no memory for it.
    private String ask(String what, String about) throws IOException, InterruptedException {
        String number = ++questions + " ";
        say(what + " " + number + about);
        while (true) {
            String answer = answers.poll(ANSWER_SECONDS, TimeUnit.SECONDS);
            if (answer == null) {
                throw new LockException("The test did not answer to " + what);
            }
            if (answer.startsWith(number)) {
                return answer.substring(number.length());
            }
        }
    }

    private static void say(String line) throws IOException {
        OUT.write((line.replace('\n', ' ') + "\n").getBytes(StandardCharsets.UTF_8));
    }
}
