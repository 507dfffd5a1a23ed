package dev.holdfast.testkit.process;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The wall clock of a server, which a test sets while the server runs: it is stepped, or held. A library in C that is loaded into
 * the server before the C library reads it from memory that both share, so the server sees a change at once. The server's monotonic
 * clock is the machine's. Programs that do not ask the C library for the time, as those in Go, do not see it.
 *
 * <p>Thread-safe.
 */
public final class ServerClock {

    /** Debian's {@code tcc} is a small one. */
    private static final List<String> COMPILERS = List.of("tcc", "cc");

    private static final VarHandle LONGS = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());
    private static final int HELD = 0;
    private static final int OFFSET = Long.BYTES;
    private static final int ASKED = 2 * Long.BYTES;
    private static final int SIZE = 3 * Long.BYTES;

    private static @Nullable Path library;

    private final Path file;
    private final ByteBuffer setting;

    /**
     * A clock that shows the machine's time.
     *
     * @param folder where its file is; the server must be allowed to read it, so all users are from now on
     */
    public ServerClock(Path folder) {
        file = folder.resolve("clock");
        try (FileChannel channel = FileChannel.open(
                file, StandardOpenOption.CREATE_NEW, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            setting = channel.map(FileChannel.MapMode.READ_WRITE, 0, SIZE);
            Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
            Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-rw-rw-"));
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    /** A clock of a process that was prepared and not started yet. */
    public static ServerClock of(ServerProcess process) {
        ServerClock clock = new ServerClock(process.folder());
        process.startBehind(clock.prefix());
        return clock;
    }

    /** What stands before the command of a server that reads this clock. */
    public List<String> prefix() {
        return List.of("env", "LD_PRELOAD=" + library(), "HOLDFAST_SERVER_CLOCK=" + file);
    }

    /** Sets it forward, or back if this is negative. It goes on from there. */
    public void step(Duration by) {
        LONGS.getAndAdd(setting, OFFSET, by.toNanos());
    }

    /** Holds it at a time since 1970, until it is held at another one. */
    public void hold(long epochMicros) {
        LONGS.setVolatile(setting, HELD, Math.multiplyExact(epochMicros, 1_000L));
    }

    /** Whether a server reads it, and not the machine's. */
    public boolean isUsed() {
        return (long) LONGS.getVolatile(setting, ASKED) != 0;
    }

    private static synchronized Path library() {
        if (library == null) {
            library = compile();
        }
        return library;
    }

    private static Path compile() {
        String compiler = COMPILERS.stream()
                .filter(ServerClock::isInstalled)
                .findFirst()
                .orElseThrow(
                        () -> new AssertionError(
                                "These tests set the clock of a server, for which they need a compiler of C: apt-get install tcc"));
        try (InputStream source = ServerClock.class.getResourceAsStream("server-clock.c")) {
            Path folder = Files.createTempDirectory("holdfast-clock");
            folder.toFile().deleteOnExit();
            Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
            Path code = folder.resolve("server-clock.c");
            Files.copy(Objects.requireNonNull(source), code);
            code.toFile().deleteOnExit();
            ServerProcess.run(
                    folder,
                    List.of(compiler, "-shared", "-fPIC", "-nostdlib", "-o", "server-clock.so", code.toString()));
            Path compiled = folder.resolve("server-clock.so");
            compiled.toFile().deleteOnExit();
            return compiled;
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    private static boolean isInstalled(String program) {
        return Stream.of(System.getenv().getOrDefault("PATH", "").split(":"))
                .anyMatch(folder -> Files.isExecutable(Path.of(folder, program)));
    }
}
