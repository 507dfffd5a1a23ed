package dev.holdfast.redis.record;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.testkit.process.ChildJvm;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tlc2.TLC;

/**
 * The model {@code PushedGrant.tla} of how a release hands a lock to the next waiter, checked by TLC in every state
 * that it can reach. The way in which the scripts do it has one holder at most; two other ways, which they had before, have
 * two, and the checker must find that.
 */
class PushedGrantModelTest {

    private static final Duration PATIENCE = Duration.ofMinutes(5);

    private static final String SETTINGS = """
            SPECIFICATION Spec
            CONSTANTS
              Claims = {c1, c2, c3}
              Servers = {s1, s2}
              None = None
              Rule = "%s"
              Life = 2
              End = 3
            SYMMETRY Same
            CONSTRAINT Bounded
            INVARIANTS %s
            """;

    @TempDir
    Path folder;

    @Test
    void whoAsksForSubscribersAndWritesFirstHasOneHolder() throws IOException {
        try (ChildJvm checker = start("ask", "OneHolder Kept")) {
            String end = checker.expect("Model checking completed. ", PATIENCE);
            assertThat(end).isEqualTo("No error has been found.");
        }
    }

    @Test
    void whoPublishesAndCountsHasTwoHolders() throws IOException {
        finds("count", "OneHolder");
    }

    @Test
    void whoPublishesBeforeWritingGivesAwayWhatTheStoreDoesNotKeep() throws IOException {
        finds("publish first", "Kept");
    }

    private void finds(String rule, String invariant) throws IOException {
        try (ChildJvm checker = start(rule, invariant)) {
            assertThat(checker.expect("Error: ", PATIENCE)).isEqualTo("Invariant " + invariant + " is violated.");
        }
    }

    private ChildJvm start(String rule, String invariants) throws IOException {
        Path model = folder.resolve("PushedGrant.tla");
        try (InputStream text = PushedGrantModelTest.class.getResourceAsStream("PushedGrant.tla")) {
            Files.copy(Objects.requireNonNull(text), model);
        }
        Path settings = Files.writeString(folder.resolve("PushedGrant.cfg"), SETTINGS.formatted(rule, invariants));
        return ChildJvm.start(
                List.of("-XX:+UseParallelGC", "-Djava.io.tmpdir=" + folder),
                TLC.class,
                "-deadlock", // no claim is left when all have ended, which is not an error
                "-metadir",
                folder.toString(),
                "-config",
                settings.toString(),
                model.toString());
    }
}
