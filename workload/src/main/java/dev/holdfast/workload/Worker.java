package dev.holdfast.workload;

import dev.holdfast.StoreUnavailableException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * A process that works for a {@link Crew}. It connects its subject, prints {@code {"ready": 1}}, and then answers
 * each order (a line of {@link Fields} on standard input) with a line, until the input ends: it never outlives its
 * crew. What libraries print goes to standard error.
 */
public final class Worker {

    /**
     * The environment variable with the store's URL: a URL may have a password, and other users can see arguments.
     */
    static final String TARGET = "HOLDFAST_WORKER_TARGET";

    private static final int OPEN_TRIES = 5;

    private final Subject.Opener opener;
    private final String subject;
    private final String target;
    private final Duration lease;
    private final Guard guard;
    private final List<Subject> clients = new ArrayList<>();
    /** Kept for all runs, as the threads of a server are: some subjects open a connection for each thread. */
    private final ExecutorService threads = new ThreadPoolExecutor(
            0, Integer.MAX_VALUE, Long.MAX_VALUE, TimeUnit.NANOSECONDS, new SynchronousQueue<>());

    private Worker(Subject.Opener opener, String[] args) throws IOException {
        this.opener = opener;
        this.subject = args[0];
        this.target = System.getenv().getOrDefault(TARGET, "");
        this.lease = Duration.ofMillis(Long.parseLong(args[1]));
        this.guard = Guard.map(Path.of(args[2]));
    }

    /** The worker of the tool, which measures Holdfast only. Arguments: SUBJECT LEASE_MS GUARD_FILE. */
    public static void main(String[] args) throws IOException {
        serve(HoldfastSubject::open, args);
    }

    /** The main method of any worker; it ends the process. */
    public static void serve(Subject.Opener opener, String[] args) throws IOException {
        PrintStream out = System.out;
        System.setOut(System.err);
        Worker worker = new Worker(opener, args);
        worker.answerOrders(out);
        // Some libraries leave threads behind that are no daemons.
        System.exit(0);
    }

    private void answerOrders(PrintStream out) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try {
            Hold hold = new Hold(client(0));
            out.println(new Fields().with("ready", 1));
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                out.println(answer(Fields.parse(line), hold));
            }
        } catch (Exception failed) {
            failed.printStackTrace();
            out.println(new Fields().with("error", String.valueOf(failed)));
        } finally {
            for (Subject client : clients) {
                close(client);
            }
        }
    }

    private static void close(Subject client) {
        try {
            client.close();
        } catch (Exception failed) {
            System.err.println("A client did not close: " + failed);
        }
    }

    private Fields answer(Fields order, Hold hold) {
        try {
            return switch (order.text("do")) {
                case "connect" -> connect(order);
                case "loop" -> new Loop(clients, threads, guard, order).run();
                case "hand-off" -> new HandOff(client(0).mutex(HandOff.name(order)), guard, order).run();
                case "signal" -> new SignalToAwait(client(0), guard, order).run();
                case "hold" -> hold.run(order);
                default -> throw new IllegalArgumentException("There is no order " + order);
            };
        } catch (Exception | Error failed) {
            failed.printStackTrace();
            return new Fields().with("error", String.valueOf(failed));
        }
    }

    /** Opens or closes clients before a loop, until there are as many as the order says. */
    private Fields connect(Fields order) throws Exception {
        int wanted = (int) order.whole("clients");
        client(wanted - 1);
        while (clients.size() > wanted) {
            close(clients.remove(clients.size() - 1));
        }
        return new Fields().with("clients", wanted);
    }

    private Subject client(int number) throws Exception {
        while (clients.size() <= number) {
            clients.add(opened());
        }
        return clients.get(number);
    }

    // Several JVMs that start at once on a small machine can be slower than a store's time limits.
    private Subject opened() throws Exception {
        for (int tries = 1; ; tries++) {
            try {
                return opener.open(subject, target, lease);
            } catch (StoreUnavailableException slow) {
                if (tries == OPEN_TRIES) {
                    throw slow;
                }
            }
        }
    }
}
