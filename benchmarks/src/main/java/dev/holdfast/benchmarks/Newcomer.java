package dev.holdfast.benchmarks;

import dev.holdfast.Holdfast;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;

/**
 * A second JVM that wants the lock now and then, and prints how long each acquisition took. Started by {@link
 * EmbeddedFigures} with the store, the kind ({@code mutex} or {@code write}), the name and the number of tries.
 */
final class Newcomer {

    /** Tries before those that count, for the newcomer's own compiler. */
    private static final int WARM_UP = 50;

    private static final long PAUSE_NANOS = 20_000_000;
    private static final long MOST_SECONDS = 120;

    private Newcomer() {}

    public static void main(String[] args) throws InterruptedException {
        int tries = Integer.parseInt(args[3]);
        try (Holdfast locks = Holdfast.connect(args[0])) {
            Lock lock = args[1].equals("write") ? locks.readWriteLock(args[2]).writeLock() : locks.lock(args[2]);
            for (int i = -WARM_UP; i < tries; i++) {
                TimeUnit.NANOSECONDS.sleep(PAUSE_NANOS);
                long asked = System.nanoTime();
                lock.lock();
                long got = System.nanoTime();
                lock.unlock();
                if (i >= 0) {
                    System.out.println(got - asked);
                }
            }
        }
    }

    /** Starts a newcomer and collects its waits. */
    static Samples run(String store, String kind, String name, int tries) throws IOException, InterruptedException {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        Process process = new ProcessBuilder(
                        java,
                        "-cp",
                        System.getProperty("java.class.path"),
                        Newcomer.class.getName(),
                        store,
                        kind,
                        name,
                        String.valueOf(tries))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        Samples waits = new Samples();
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            lines.lines().forEach(line -> waits.add(Long.parseLong(line)));
            if (!process.waitFor(MOST_SECONDS, TimeUnit.SECONDS) || process.exitValue() != 0 || waits.size() != tries) {
                throw new IllegalStateException("The newcomer gave " + waits.size() + " of " + tries + " results");
            }
        } finally {
            process.destroyForcibly();
        }
        return waits;
    }
}
