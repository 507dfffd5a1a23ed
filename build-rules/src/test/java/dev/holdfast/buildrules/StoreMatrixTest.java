package dev.holdfast.buildrules;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Every store under {@code stores/} runs the tests that every store passes. */
class StoreMatrixTest {

    private static final Path STORES = Path.of("..", "stores");

    /** The modules under {@code stores/} that hold no locks. */
    private static final Set<String> NO_STORES = Set.of("jdbc-fence");

    private static final Pattern EXTENDS_THE_TCK =
            Pattern.compile("\\bextends\\s+(dev\\.holdfast\\.testkit\\.)?(LockStoreTck|ServerStoreTck)\\b");

    @Test
    void everyStoreRunsTheTck() {
        assertThat(modules(STORES)).as("modules under stores/").isNotEmpty();
        assertThat(storesWithoutTck(STORES))
                .as("store modules with no class under src/test/java that extends dev.holdfast.testkit.LockStoreTck")
                .isEmpty();
    }

    @Test
    void aStoreWithoutTheTckIsFound(@TempDir Path stores) {
        SourceFiles.write(stores, "good/src/main/java/GoodStore.java", "class GoodStore {}");
        SourceFiles.write(
                stores, "good/src/test/java/GoodTckTest.java", "class GoodTckTest extends\n        LockStoreTck {}");
        SourceFiles.write(stores, "server/src/main/java/ServerStore.java", "class ServerStore {}");
        SourceFiles.write(stores, "server/src/test/java/ServerTest.java", "class ServerTest extends ServerStoreTck {}");
        SourceFiles.write(stores, "untested/src/main/java/UntestedStore.java", "class UntestedStore {}");
        SourceFiles.write(stores, "talks/src/main/java/TalkingStore.java", "class TalkingStore {}");
        SourceFiles.write(
                stores,
                "talks/src/test/java/TalkTest.java",
                "/* It extends LockStoreTck.\n*/\n// extends LockStoreTck\nclass TalkTest {}");
        SourceFiles.write(stores, "nearly/src/main/java/NearlyStore.java", "class NearlyStore {}");
        SourceFiles.write(
                stores, "nearly/src/test/java/NearlyTest.java", "class NearlyTest extends LockStoreTckLike {}");
        SourceFiles.write(stores, "begun/src/main/java/package-info.java", "package begun;");
        assertThat(storesWithoutTck(stores)).containsExactly("nearly", "talks", "untested");
    }

    private static List<String> storesWithoutTck(Path stores) {
        return modules(stores).stream()
                .filter(module -> !NO_STORES.contains(module.getFileName().toString()))
                .filter(StoreMatrixTest::hasCode)
                .filter(module -> SourceFiles.java(module.resolve("src/test/java")).stream()
                        .noneMatch(StoreMatrixTest::extendsTheTck))
                .map(module -> module.getFileName().toString())
                .toList();
    }

    /** A module with nothing but package descriptions is no store yet. */
    private static boolean hasCode(Path module) {
        return SourceFiles.java(module.resolve("src/main/java")).stream()
                .anyMatch(file -> !file.endsWith("package-info.java"));
    }

    private static boolean extendsTheTck(Path file) {
        return EXTENDS_THE_TCK.matcher(SourceFiles.code(file)).find();
    }

    private static List<Path> modules(Path stores) {
        try (Stream<Path> children = Files.list(stores)) {
            return children.filter(child -> Files.isDirectory(child.resolve("src")))
                    .sorted()
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
