package com.example.shop;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Two processes of the shop over one database; one of them is killed. */
class TwoInstancesTest {

    private static final int TEAPOTS = 25;
    private static final int BUYERS = 60;
    private static final Pattern REPORT = Pattern.compile("\"madeBy\":\"(\\w+)\",\"sales\":(\\d+)");

    @TempDir
    Path folder;

    /** The first one has the file of the database open, and serves it to the second one. */
    private ShopProcess first;

    private ShopProcess second;

    @BeforeEach
    void start() throws IOException {
        first = ShopProcess.start("first", folder);
        second = ShopProcess.start("second", folder);
    }

    @AfterEach
    void stop() throws InterruptedException {
        for (ShopProcess shop : Stream.of(first, second).filter(shop -> shop != null).toList()) {
            shop.kill();
        }
    }

    @Test
    void noMoreIsSoldThanThereWasAndOneInstanceIsEnough() throws Exception {
        sellOutOnBoth();
        theEndpointAndTheMetricsShowTheLocks();
        reportedOnceUntil(TEAPOTS);

        first.kill();
        assertThat(bought(43)).as("a cup").isEqualTo(201);
        assertThat(bought(42)).as("a teapot").isEqualTo(409);
        int before = reports().size();
        until("the second one goes on with the job", () -> reports().size() > before + 1);
        assertThat(reports().subList(before + 1, reports().size()))
                .extracting(report -> report.group(1))
                .containsOnly("second");
        reportedOnceUntil(TEAPOTS + 1);
    }

    // The second one has to open the database itself now, and finds the connections that it had to the first one broken.
    private int bought(long item) {
        AtomicInteger answer = new AtomicInteger(500);
        until("the second one answers", () -> {
            answer.set(second.sell(item).join());
            return answer.get() != 500;
        });
        return answer.get();
    }

    private void sellOutOnBoth() {
        List<CompletableFuture<Integer>> buyers = IntStream.range(0, BUYERS)
                .mapToObj(buyer -> (buyer % 2 == 0 ? first : second).sell(42))
                .toList();
        List<Integer> answers = buyers.stream().map(CompletableFuture::join).toList();
        assertThat(answers).containsOnly(201, 409);
        assertThat(answers.stream().filter(answer -> answer == 201)).hasSize(TEAPOTS);
        assertThat(read("/items/42")).contains("\"stock\":0", "\"sold\":" + TEAPOTS);
    }

    private void theEndpointAndTheMetricsShowTheLocks() {
        until("the job was seen", () -> read("/actuator/locks").contains("\"name\":\"sales-report\""));
        assertThat(read("/actuator/prometheus"))
                .containsPattern("holdfast_acquire_seconds_count\\{.*lock=\"item:\\*\".*outcome=\"acquired\"");
    }

    /** A sale that is in two reports, because two instances made them at once, would be counted twice. */
    private void reportedOnceUntil(int sales) {
        until("all sales were reported", () -> reported() >= sales);
        assertThat(reported()).isEqualTo(sales);
    }

    private int reported() {
        return reports().stream().mapToInt(report -> Integer.parseInt(report.group(2))).sum();
    }

    private List<MatchResult> reports() {
        return REPORT.matcher(read("/reports")).results().toList();
    }

    private String read(String path) {
        AtomicReference<Optional<String>> page = new AtomicReference<>();
        until("the second one shows " + path, () -> {
            page.set(second.get(path));
            return page.get().isPresent();
        });
        return page.get().orElseThrow();
    }

    private static void until(String what, BooleanSupplier condition) {
        long end = System.nanoTime() + Duration.ofSeconds(60).toNanos();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).as(what).isLessThan(end);
            try {
                Thread.sleep(100);
            } catch (InterruptedException timedOut) {
                throw new IllegalStateException("Interrupted while waiting until " + what, timedOut);
            }
        }
    }
}
