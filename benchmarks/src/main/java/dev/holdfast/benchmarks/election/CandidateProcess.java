package dev.holdfast.benchmarks.election;

import dev.holdfast.benchmarks.server.ZooKeeperNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** A candidate in a process of its own: as its parent sees it, and {@link #main} as the process. */
final class CandidateProcess implements AutoCloseable {

    private static final String LEADS = "LEADS ";
    private static final String RESIGNS = "RESIGNS ";
    private static final String STANDS = "STANDS ";
    private static final long POLL_MILLIS = 1;

    private final Process process;
    private volatile long ledSince;
    private volatile long resignedAt;
    private volatile boolean stands;

    private CandidateProcess(Process process) {
        this.process = process;
        Thread reader = new Thread(this::read, "reader");
        reader.setDaemon(true);
        reader.start();
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
    }

    static CandidateProcess start(Recipe recipe, ZooKeeperNode server) throws IOException {
        return new CandidateProcess(new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx128m",
                        "-XX:+UseSerialGC",
                        "-cp",
                        System.getProperty("java.class.path"),
                        CandidateProcess.class.getName(),
                        recipe.name(),
                        server.target())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start());
    }

    private void read() {
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.US_ASCII))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.startsWith(LEADS)) {
                    ledSince = Long.parseLong(line.substring(LEADS.length()));
                } else if (line.startsWith(RESIGNS)) {
                    resignedAt = Long.parseLong(line.substring(RESIGNS.length()));
                } else if (line.startsWith(STANDS)) {
                    stands = true;
                }
            }
        } catch (IOException | UncheckedIOException ended) {
            // With the process.
        }
    }

    /** When it began to lead the last time; 0 if it never did. */
    long ledSince() {
        return ledSince;
    }

    /** Waits until it stands, so that it can be the next leader. */
    void awaitStanding() throws InterruptedException {
        while (!stands) {
            if (!process.isAlive()) {
                throw new IllegalStateException("A candidate has ended before it stood");
            }
            TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
        }
    }

    /** Lets it resign, and returns when it did. */
    long resign() throws InterruptedException {
        long before = resignedAt;
        try {
            process.getOutputStream().write('\n');
            process.getOutputStream().flush();
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
        while (resignedAt == before) {
            if (!process.isAlive()) {
                throw new IllegalStateException("A candidate has ended");
            }
            TimeUnit.MILLISECONDS.sleep(POLL_MILLIS);
        }
        return resignedAt;
    }

    /** Kills it. */
    @Override
    public void close() {
        process.destroyForcibly();
    }

    /** The process; ends when its input is closed. */
    public static void main(String[] args) throws Exception {
        Runnable resign = Recipe.valueOf(args[0]).stand(args[1], () -> report(LEADS));
        report(STANDS);
        for (int read = System.in.read(); read >= 0; read = System.in.read()) {
            report(RESIGNS);
            resign.run();
        }
        Runtime.getRuntime().halt(0);
    }

    private static void report(String what) {
        long now = System.nanoTime();
        System.out.println(what + now);
    }
}
