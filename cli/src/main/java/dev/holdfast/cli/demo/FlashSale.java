package dev.holdfast.cli.demo;

import dev.holdfast.cli.output.ExitCode;
import dev.holdfast.cli.output.Failure;
import dev.holdfast.cli.output.Table;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The demonstration: opens the shop, starts the clerks, reads their reports, and counts. */
final class FlashSale {

    private static final long LONGEST_NANOS = TimeUnit.SECONDS.toNanos(120);
    private static final int PROGRESS_LINES = 4;
    private static final String END = "end";

    private final int customers;
    private final int stock;
    private final int processes;
    private final boolean locked;
    private final @Nullable String store;

    private final List<Process> clerks = new ArrayList<>();
    private final BlockingQueue<String> reports = new LinkedBlockingQueue<>();
    private final List<Long> waitsMicros = new ArrayList<>();
    private int refused;
    private int served;

    /** @param store null for a SQLite file that is deleted with the demonstration */
    FlashSale(int customers, int stock, int processes, boolean locked, @Nullable String store) {
        this.customers = customers;
        this.stock = stock;
        this.processes = processes;
        this.locked = locked;
        this.store = store;
    }

    int run() {
        Path folder = null;
        Thread cleaner = null;
        try {
            Path made = Files.createTempDirectory("holdfast-flash-sale-");
            folder = made;
            // Ctrl-C must leave neither processes nor files behind.
            cleaner = new Thread(() -> cleanUp(made), "cleaner");
            Runtime.getRuntime().addShutdownHook(cleaner);
            FlashSaleShop shop = new FlashSaleShop(folder);
            shop.open(stock);
            say("%d customers, %d pieces, %d processes, %s"
                    .formatted(customers, stock, processes, locked ? "with a lock" : "no lock"));
            long deadline = System.nanoTime() + LONGEST_NANOS;
            startClerks(folder);
            awaitReady(deadline);
            sell(deadline);
            return conclude(shop.sold());
        } catch (IOException failed) {
            throw new Failure(
                    ExitCode.INTERNAL, "the demo could not use its temporary folder: " + failed.getMessage(), failed);
        } catch (InterruptedException nobodyInterruptsThis) {
            throw new IllegalStateException(nobodyInterruptsThis);
        } finally {
            if (cleaner != null && folder != null) {
                Runtime.getRuntime().removeShutdownHook(cleaner);
                cleanUp(folder);
            }
        }
    }

    private void startClerks(Path folder) throws IOException {
        String java = ProcessHandle.current().info().command().orElse(System.getProperty("java.home") + "/bin/java");
        String url = store != null ? store : "sqlite:" + folder.resolve("locks.db");
        for (int i = 0; i < processes; i++) {
            int share = customers / processes + (i < customers % processes ? 1 : 0);
            List<String> command = new ArrayList<>(List.of(
                    java,
                    "-XX:TieredStopAtLevel=1",
                    "-XX:+UseSerialGC",
                    "-cp",
                    System.getProperty("java.class.path"),
                    FlashSaleClerk.class.getName(),
                    folder.toString(),
                    "clerk" + i,
                    Integer.toString(share)));
            ProcessBuilder builder = new ProcessBuilder(command).redirectError(Redirect.INHERIT);
            if (locked) {
                // The lock has a name of its own, so that two demonstrations on one store do not share it.
                command.add(folder.getFileName().toString());
                // Not an argument: the URL may have a password, and everybody sees the arguments of a process.
                builder.environment().put(FlashSaleClerk.STORE, url);
            }
            Process clerk = builder.start();
            clerks.add(clerk);
            Thread listener = new Thread(() -> listen(clerk), "listener-" + i);
            listener.setDaemon(true);
            listener.start();
        }
    }

    private void listen(Process clerk) {
        try (var lines = new BufferedReader(new InputStreamReader(clerk.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                reports.add(line);
            }
        } catch (IOException closed) {
            // The clerk has ended; the count of its customers shows whether it had finished.
        }
        reports.add(END);
    }

    private void awaitReady(long deadline) throws IOException, InterruptedException {
        for (int ready = 0; ready < processes; ready++) {
            String report = next(deadline);
            if (!report.equals("ready")) {
                throw failed(report);
            }
        }
        for (Process clerk : clerks) {
            OutputStream in = clerk.getOutputStream();
            in.write("go\n".getBytes(StandardCharsets.UTF_8));
            in.flush();
        }
    }

    private void sell(long deadline) throws InterruptedException {
        int printedLines = 0;
        for (int running = processes; running > 0; ) {
            String report = next(deadline);
            if (report.equals(END)) {
                running--;
            } else {
                count(report);
            }
            int lines = served * PROGRESS_LINES / customers;
            if (lines > printedLines) {
                printedLines = lines;
                say("  served %d of %d, sold %d".formatted(served, customers, served - refused));
            }
        }
        if (served != customers) {
            throw failed("only " + served + " of " + customers + " customers were served");
        }
    }

    private void count(String report) {
        int space = report.indexOf(' ');
        if (space < 0 || report.startsWith("failed")) {
            throw failed(report);
        }
        served++;
        refused += report.startsWith("refused") ? 1 : 0;
        waitsMicros.add(Long.parseLong(report.substring(space + 1)));
    }

    private String next(long deadline) throws InterruptedException {
        String report = reports.poll(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
        if (report == null) {
            throw failed("it took more than " + TimeUnit.NANOSECONDS.toSeconds(LONGEST_NANOS) + " s");
        }
        return report;
    }

    private static Failure failed(String why) {
        return new Failure(
                ExitCode.INTERNAL,
                "the demo failed: a clerk said \"" + why + "\"; try fewer --customers or --processes");
    }

    private int conclude(int sold) {
        int oversold = Math.max(0, sold - stock);
        waitsMicros.sort(null);
        System.out.println();
        System.out.print(new Table()
                .row("SOLD", "REFUSED", "OVERSOLD", "WAIT P50", "WAIT P99")
                .row(
                        Integer.toString(sold),
                        Integer.toString(refused),
                        Integer.toString(oversold),
                        locked ? millis(50) : "-",
                        locked ? millis(99) : "-"));
        System.out.println();
        if (oversold == 0) {
            say("Nothing was oversold: %d sold of %d.".formatted(sold, stock));
            return ExitCode.OK;
        }
        say("Oversold: %d sold of %d, %d too many.".formatted(sold, stock, oversold));
        if (locked) {
            throw new Failure(
                    ExitCode.INTERNAL, "the lock did not protect the stock: please report this with your store's URL");
        }
        say("Each buyer got a confirmation of the purchase. Try it with the lock: holdfast demo flash-sale");
        return ExitCode.OK;
    }

    /** A percentile of the waits, by nearest rank. */
    private String millis(int percent) {
        int rank = (waitsMicros.size() * percent + 99) / 100;
        long micros = waitsMicros.get(Math.max(0, rank - 1));
        return micros < 10_000 ? micros + " us" : micros / 1000 + " ms";
    }

    private void cleanUp(Path folder) {
        clerks.forEach(Process::destroyForcibly);
        for (Process clerk : clerks) {
            try {
                clerk.waitFor(5, TimeUnit.SECONDS);
            } catch (InterruptedException unlikely) {
                Thread.currentThread().interrupt();
            }
        }
        try (Stream<Path> files = Files.walk(folder)) {
            files.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
        } catch (IOException gone) {
            // Nothing is left to be deleted.
        }
    }

    private static void say(String line) {
        System.out.println(line);
    }
}
