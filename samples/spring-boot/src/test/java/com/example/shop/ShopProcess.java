package com.example.shop;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** An instance of the shop, in a process of its own. */
final class ShopProcess {

    private static final Pattern PORT = Pattern.compile("Tomcat started on port (\\d+)");
    private static final Duration LONGEST_ANSWER = Duration.ofSeconds(30);

    private final HttpClient http = HttpClient.newHttpClient();
    private final Process process;
    private final int port;

    private ShopProcess(Process process, int port) {
        this.process = process;
        this.port = port;
    }

    /** Starts one on a free port, and returns when it can be reached. */
    static ShopProcess start(String name, Path folder) throws IOException {
        Process process = new ProcessBuilder(List.of(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-XX:+UseSerialGC",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Shop.class.getName(),
                        "--server.port=0",
                        "--shop.instance=" + name,
                        "--shop.database=" + folder.resolve("shop"),
                        "--shop.report-at=* * * * * *"))
                .redirectErrorStream(true)
                .start();
        BufferedReader log = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        StringBuilder seen = new StringBuilder();
        int port = 0;
        for (String line = log.readLine(); line != null; line = log.readLine()) {
            seen.append(line).append('\n');
            Matcher found = PORT.matcher(line);
            if (found.find()) {
                port = Integer.parseInt(found.group(1));
            }
            if (line.contains("Started Shop in")) {
                drain(name, log);
                return new ShopProcess(process, port);
            }
        }
        throw new IOException("The shop " + name + " has not started:\n" + seen);
    }

    // A process whose output nobody reads stands still when the pipe is full.
    private static void drain(String name, BufferedReader log) {
        Thread reader = new Thread(() -> log.lines().forEach(line -> System.out.println(name + ": " + line)));
        reader.setDaemon(true);
        reader.start();
    }

    /** Ends it as a crash does. */
    void kill() throws InterruptedException {
        process.destroyForcibly().waitFor();
    }

    /** A page, unless the shop cannot show it just now. */
    Optional<String> get(String path) {
        HttpResponse<String> answer =
                http.sendAsync(request(path).build(), BodyHandlers.ofString()).join();
        return answer.statusCode() == 200 ? Optional.of(answer.body()) : Optional.empty();
    }

    /** Buys one of an item; the answer's status. */
    CompletableFuture<Integer> sell(long item) {
        HttpRequest request = request("/items/" + item + "/sales")
                .POST(BodyPublishers.noBody())
                .build();
        return http.sendAsync(request, BodyHandlers.discarding()).thenApply(answer -> answer.statusCode());
    }

    private HttpRequest.Builder request(String path) {
        return HttpRequest.newBuilder(URI.create("http://localhost:" + port + path)).timeout(LONGEST_ANSWER);
    }
}
