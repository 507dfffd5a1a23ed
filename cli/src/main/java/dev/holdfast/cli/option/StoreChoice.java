package dev.holdfast.cli.option;

import dev.holdfast.Holdfast;
import dev.holdfast.cli.output.ExitCode;
import dev.holdfast.cli.output.Failure;
import dev.holdfast.store.StoreUrl;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The store to use: {@code --store}, else {@code HOLDFAST_STORE}, else a SQLite file in the user's state folder,
 * which is made on first use and which only this user can access.
 *
 * @param url the URL in the form that the library takes
 * @param file the file of the default store, whose folder may have to be made
 */
public record StoreChoice(String url, @Nullable Path file) {

    public static StoreChoice of(@Nullable String option) {
        return of(option, System::getenv, System.getProperty("user.home", ""));
    }

    static StoreChoice of(@Nullable String option, UnaryOperator<@Nullable String> environment, String userHome) {
        if (option != null && option.isEmpty()) {
            // As "$LOCKS" is where nobody has set it: the default would exclude others than the user wants.
            throw Failure.usage("--store is empty: give the URL of a store, or leave the option out");
        }
        String url = option != null ? option : notEmpty(environment.apply("HOLDFAST_STORE"));
        if (url != null) {
            return new StoreChoice(url, null);
        }
        Path file = stateFolder(environment, userHome).resolve("holdfast").resolve("locks.db");
        return new StoreChoice("sqlite:" + file, file);
    }

    private static Path stateFolder(UnaryOperator<@Nullable String> environment, String userHome) {
        String state = notEmpty(environment.apply("XDG_STATE_HOME"));
        // The specification says that a relative path is to be ignored.
        if (state != null && Path.of(state).isAbsolute()) {
            return Path.of(state);
        }
        String home = notEmpty(environment.apply("HOME"));
        if (home == null) {
            home = userHome;
        }
        if (home.isEmpty() || !Path.of(home).isAbsolute()) {
            throw Failure.usage(
                    "there is no home folder to keep locks in: set HOME or XDG_STATE_HOME, or give --store URL");
        }
        return Path.of(home, ".local", "state");
    }

    private static @Nullable String notEmpty(@Nullable String value) {
        return value == null || value.isEmpty() ? null : value;
    }

    /**
     * The same store, if others can see what this process locks in it.
     *
     * @throws Failure with 64 if it is the store in memory
     */
    public StoreChoice shared() {
        if (url.startsWith("memory:")) {
            throw Failure.usage(
                    "the locks of memory: are seen by this process only and exclude nobody: name a store that all"
                            + " processes share, such as sqlite:PATH");
        }
        return this;
    }

    /** Opens the store; {@code label} shows people who uses the locks. */
    public Holdfast connect(String label) {
        if (file != null) {
            makeFolder(file);
        }
        return Holdfast.builder().url(url).label(label).connect();
    }

    private static void makeFolder(Path file) {
        Path folder = file.getParent();
        if (folder == null || Files.isDirectory(folder)) {
            return;
        }
        try {
            Path parent = folder.getParent();
            if (parent != null) {
                Files.createDirectories(parent);
            }
            Files.createDirectories(
                    folder, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        } catch (IOException failed) {
            throw new Failure(
                    ExitCode.UNAVAILABLE,
                    "cannot make " + folder + " for the locks (" + failed + "): make it writable, or give --store URL",
                    failed);
        }
    }

    /** The URL without its password, for messages. */
    @Override
    public String toString() {
        return StoreUrl.withoutPassword(url);
    }
}
