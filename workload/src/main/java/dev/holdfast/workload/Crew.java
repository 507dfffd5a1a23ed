package dev.holdfast.workload;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * Worker processes for one subject, started when they are first needed and kept, so that their compiled code is
 * reused. They are idle between orders. Not thread-safe.
 */
public final class Crew implements AutoCloseable {

    /** How long before the common start an order is sent, so that all threads are ready by then. */
    private static final long LEAD_NANOS = TimeUnit.MILLISECONDS.toNanos(150);

    private static final long START_SECONDS = 60;
    private static final String END = "";

    private final List<String> java;
    private final String subject;
    private final String target;
    private final Duration lease;
    private final Path folder;
    private final Guard guard;
    private final List<Member> members = new ArrayList<>();

    /**
     * @param main the class whose main method calls {@link Worker#serve}
     * @param options of the workers' JVMs
     * @param folder where the guard's file and what workers print to standard error go
     */
    public Crew(Class<?> main, List<String> options, String subject, String target, Duration lease, Path folder)
            throws IOException {
        List<String> command = new ArrayList<>();
        command.add(ProcessHandle.current().info().command().orElse(System.getProperty("java.home") + "/bin/java"));
        command.addAll(options);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), main.getName()));
        this.java = command;
        this.subject = subject;
        this.target = target;
        this.lease = lease;
        this.folder = folder;
        this.guard = Guard.map(folder.resolve("guard-" + subject));
    }

    public String subject() {
        return subject;
    }

    /** One worker process. */
    private static final class Member {
        private final Process process;
        private final Path errors;
        private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();

        Member(ProcessBuilder builder, Path errors) throws IOException {
            this.errors = errors;
            this.process = builder.redirectError(errors.toFile()).start();
            Thread listener = new Thread(this::listen, "listener");
            listener.setDaemon(true);
            listener.start();
        }

        private void listen() {
            try (var lines =
                    new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    answers.add(line);
                }
            } catch (IOException closed) {
                // The end of the process is reported below, whatever its cause.
            }
            answers.add(END);
        }

        void send(Fields order) throws IOException {
            OutputStream in = process.getOutputStream();
            in.write((order + "\n").getBytes(StandardCharsets.UTF_8));
            in.flush();
        }

        Fields answer(long seconds) throws IOException, InterruptedException {
            String line = answers.poll(seconds, TimeUnit.SECONDS);
            if (line == null || line.equals(END)) {
                throw new IllegalStateException(
                        (line == null ? "A worker did not answer within " + seconds + " s: " : "A worker ended: ")
                                + lastErrors());
            }
            Fields answer = Fields.parse(line);
            if (answer.has("error")) {
                throw new IllegalStateException("A worker failed: " + answer.text("error"));
            }
            return answer;
        }

        private String lastErrors() throws IOException {
            List<String> lines = Files.readAllLines(errors);
            return String.join(" / ", lines.subList(Math.max(0, lines.size() - 5), lines.size()));
        }
    }

    /** Starts workers until there are {@code workers}, and gives each {@code clientsEach} clients. */
    public void ensureWorkers(int workers, int clientsEach) throws IOException, InterruptedException {
        int present = members.size();
        for (int i = present; i < workers; i++) {
            List<String> command = new ArrayList<>(java);
            command.addAll(List.of(
                    subject,
                    Long.toString(lease.toMillis()),
                    folder.resolve("guard-" + subject).toString()));
            ProcessBuilder builder = new ProcessBuilder(command);
            builder.environment().put(Worker.TARGET, target);
            members.add(new Member(builder, folder.resolve("errors-" + subject + "-" + i)));
        }
        for (Member member : members.subList(present, members.size())) {
            member.answer(START_SECONDS);
        }
        List<Fields> orders = new ArrayList<>();
        for (int i = 0; i < workers; i++) {
            orders.add(new Fields().with("do", "connect").with("clients", clientsEach));
        }
        execute(orders, Duration.ofSeconds(START_SECONDS));
    }

    /** Ends all workers but the first {@code remaining}. */
    public void dismiss(int remaining) {
        while (members.size() > remaining) {
            Process process = members.remove(members.size() - 1).process;
            try {
                // They end when their input ends, and close their clients.
                process.getOutputStream().close();
                if (!process.waitFor(5, TimeUnit.SECONDS)) {
                    process.destroyForcibly().waitFor(5, TimeUnit.SECONDS);
                }
            } catch (IOException ended) {
                process.destroyForcibly();
            } catch (InterruptedException hurry) {
                process.destroyForcibly();
                Thread.currentThread().interrupt();
            }
        }
    }

    /**
     * Gives the first workers an order each, with a moment at which all begin, and collects the answers.
     *
     * @throws IllegalStateException if one fails, ends, or does not answer in time; the crew is of no use then
     */
    public List<Fields> execute(List<Fields> orders, Duration limit) throws IOException, InterruptedException {
        guard.clear();
        long startAt = System.nanoTime() + LEAD_NANOS;
        for (int i = 0; i < orders.size(); i++) {
            members.get(i).send(orders.get(i).with("startAt", startAt));
        }
        List<Fields> answers = new ArrayList<>();
        for (int i = 0; i < orders.size(); i++) {
            answers.add(members.get(i).answer(limit.toSeconds() + 1));
        }
        return answers;
    }

    /** Ends all workers at once, without letting them close anything. Callable from any thread. */
    public void kill() {
        List.copyOf(members).forEach(member -> member.process.destroyForcibly());
    }

    @Override
    public void close() {
        dismiss(0);
    }
}
