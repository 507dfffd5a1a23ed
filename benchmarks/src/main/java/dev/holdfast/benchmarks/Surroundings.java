package dev.holdfast.benchmarks;

import dev.holdfast.workload.Fields;
import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** What a reader of the figures must know about the machine and the versions. */
final class Surroundings {

    /**
     * The options of all workers' JVMs: a bounded heap, since many of them run at once, whose first 256 MB are touched at
     * the start. Else an entrant that allocates little pays for the first use of each page during the rounds, while one
     * that allocates more has been through its heap before.
     */
    static final List<String> WORKER_OPTIONS =
            List.of("-Xms256m", "-Xmx1g", "-XX:+AlwaysPreTouch", "--enable-native-access=ALL-UNNAMED");

    private static final List<String> LIBRARIES = List.of(
            "redisson",
            "jedis",
            "lettuce-core",
            "curator-recipes",
            "jetcd-core",
            "folsom",
            "spring-integration-core",
            "shedlock-core",
            "postgresql",
            "mariadb-java-client",
            "sqlite-jdbc",
            "HikariCP",
            "netty-common",
            "grpc-core");

    private Surroundings() {}

    static Fields fields() {
        return new Fields()
                .with("kind", "surroundings")
                .with("time", Instant.now().toString())
                .with("jdk", Runtime.version().toString())
                .with("system", System.getProperty("os.name") + " " + System.getProperty("os.version"))
                .with("processor", processor())
                .with("cores", Runtime.getRuntime().availableProcessors())
                .with("loadAtStart", load())
                .with("workerOptions", String.join(" ", WORKER_OPTIONS))
                .with("libraries", libraries());
    }

    static double load() {
        return ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage();
    }

    private static String processor() {
        try {
            return Files.readAllLines(Path.of("/proc/cpuinfo")).stream()
                    .filter(line -> line.startsWith("model name"))
                    .map(line -> line.substring(line.indexOf(':') + 2))
                    .findFirst()
                    .orElse(System.getProperty("os.arch"));
        } catch (IOException unknown) {
            return System.getProperty("os.arch");
        }
    }

    // The libraries are beside the jar, and the names of their files contain their versions.
    private static String libraries() {
        String first = System.getProperty("java.class.path").split(File.pathSeparator)[0];
        File[] files = new File(new File(first).getAbsoluteFile().getParentFile(), "lib").listFiles();
        if (files == null) {
            return "unknown";
        }
        Pattern pattern = Pattern.compile("(.+?)-(\\d.*)\\.jar");
        return Arrays.stream(files)
                .map(file -> pattern.matcher(file.getName()))
                .filter(Matcher::matches)
                .filter(name -> LIBRARIES.contains(name.group(1)))
                .map(name -> name.group(1) + " " + name.group(2))
                .sorted()
                .collect(Collectors.joining(", "));
    }
}
