package dev.holdfast.buildrules;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Each fault that {@code ./test --mutants} plants can still be planted, and names tests that exist. Else the list would say less and
 * less without anybody's notice.
 */
class PlantedFaultsTest {

    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();

    /** The first two lines of a patch. */
    private static final Pattern HEADER = Pattern.compile("# Breaks: \\S.*\\n# Tests: (\\S+)\\ndiff (?s:.*)");

    @Test
    void everyFaultCanStillBePlanted() {
        List<Path> patches = patches(ROOT);
        assertThat(patches).hasSizeGreaterThan(40);
        assertThat(problems(patches, ROOT)).isEmpty();
    }

    @Test
    void aFaultThatCannotBePlantedIsFound(@TempDir Path root) {
        SourceFiles.write(root, "core/Some.java", "one\ntwo\nthree\n");
        SourceFiles.write(root, "core/src/test/java/SomeTest.java", "class SomeTest {}");
        String change = "diff --git a/core/Some.java b/core/Some.java\n--- a/core/Some.java\n+++ b/core/Some.java\n"
                + "@@ -1,3 +1,3 @@\n one\n-%s\n+TWO\n three\n";
        patch(root, "good", "# Breaks: A promise.\n# Tests: SomeTest#one+two,SomeTest\n" + change.formatted("two"));
        patch(root, "changed", "# Breaks: A promise.\n# Tests: SomeTest\n" + change.formatted("too"));
        patch(root, "gone", "# Breaks: A promise.\n# Tests: SomeTest,GoneTest#one\n" + change.formatted("two"));
        patch(root, "silent", change.formatted("two"));
        assertThat(problems(patches(root), root))
                .containsExactly(
                        "changed.patch does not apply any more: make it anew",
                        "gone.patch names GoneTest, which does not exist",
                        "silent.patch does not begin with \"# Breaks: PROMISE\" and \"# Tests: TEST,TEST\"");
    }

    private static void patch(Path root, String name, String text) {
        SourceFiles.write(root, "tools/mutants/core/" + name + ".patch", text);
    }

    private static List<Path> patches(Path root) {
        try (Stream<Path> files = Files.walk(root.resolve("tools/mutants"))) {
            return files.filter(file -> file.toString().endsWith(".patch"))
                    .sorted()
                    .toList();
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    private static List<String> problems(List<Path> patches, Path root) {
        Set<String> tests = tests(root);
        List<String> problems = new ArrayList<>();
        for (Path patch : patches) {
            String name = patch.getFileName().toString();
            if (!applies(patch, root)) {
                problems.add(name + " does not apply any more: make it anew");
            }
            Matcher header = HEADER.matcher(SourceFiles.read(patch));
            if (!header.matches()) {
                problems.add(name + " does not begin with \"# Breaks: PROMISE\" and \"# Tests: TEST,TEST\"");
                continue;
            }
            for (String test : header.group(1).split(",")) {
                String named = test.replaceAll("#.*", "");
                if (!tests.contains(named)) {
                    problems.add(name + " names " + named + ", which does not exist");
                }
            }
        }
        return problems;
    }

    private static Set<String> tests(Path root) {
        return SourceFiles.java(root).stream()
                .map(file -> file.getFileName().toString().replace(".java", ""))
                .filter(name -> name.endsWith("Test"))
                .collect(Collectors.toSet());
    }

    private static boolean applies(Path patch, Path root) {
        ProcessBuilder git = new ProcessBuilder("git", "apply", "--check", patch.toString()).directory(root.toFile());
        git.redirectOutput(ProcessBuilder.Redirect.DISCARD).redirectError(ProcessBuilder.Redirect.DISCARD);
        try {
            return git.start().waitFor() == 0;
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        } catch (InterruptedException failure) {
            throw new AssertionError(failure);
        }
    }
}
