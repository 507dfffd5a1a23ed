package dev.holdfast.redis;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/**
 * The program of Redis 6.2.7, linked statically, in a jar that Signal publishes on Maven Central ({@code
 * org.signal:embedded-redis}, Apache 2.0; Redis itself is BSD). Nothing else of that jar is used. It knows no TLS.
 */
final class OldRedis {

    // Once, before anything is started: a process that begins while the file is being written has it open, too,
    // and then the system does not run it.
    private static final Path PROGRAM = extracted();

    private OldRedis() {}

    /** The program, in a folder that is deleted when this JVM ends. */
    static Path program() {
        return PROGRAM;
    }

    private static Path extracted() {
        String name = "/redis-server-6.2.7-" + system() + "-" + processor();
        try (InputStream jar = OldRedis.class.getResourceAsStream(name)) {
            if (jar == null) {
                throw new AssertionError("org.signal:embedded-redis has no program " + name + " for this machine");
            }
            Path folder = Files.createTempDirectory("holdfast-old-redis");
            Path program = folder.resolve("redis-server");
            folder.toFile().deleteOnExit();
            program.toFile().deleteOnExit();
            Files.copy(jar, program);
            if (!program.toFile().setExecutable(true)) {
                throw new AssertionError("Cannot make " + program + " executable");
            }
            return program;
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    private static String system() {
        return System.getProperty("os.name").toLowerCase(Locale.ROOT).startsWith("mac") ? "darwin" : "linux";
    }

    private static String processor() {
        return System.getProperty("os.arch").equals("aarch64") ? "arm64" : "amd64";
    }
}
