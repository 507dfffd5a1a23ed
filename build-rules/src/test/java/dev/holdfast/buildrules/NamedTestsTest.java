package dev.holdfast.buildrules;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Every test that the pages about promises and reliability name exists, so that they cannot promise what nobody tries any more. */
class NamedTestsTest {

    private static final Path ROOT = Path.of("..");
    private static final List<String> PAGES = List.of("guarantees.md", "reliability.md");

    /** {@code SomeTest}, {@code redis.FaultTest} or {@code SomeLaw.someMethod}. */
    private static final Pattern NAMED = Pattern.compile(
            "`((?:[a-z]\\w*\\.)*)([A-Z]\\w*(?:Test|Law|Contract|Tck)|ThreadSafety)(?:\\.([a-z]\\w*))?`");

    private static final Pattern PARENT = Pattern.compile("\\bclass\\s+\\w+\\s+extends\\s+(?:\\w+\\.)*(\\w+)");

    @Test
    void everyNamedTestExists() {
        Map<String, List<Path>> classes = classes(ROOT);
        for (String page : PAGES) {
            String text = SourceFiles.read(ROOT.resolve("docs").resolve(page));
            assertThat(NAMED.matcher(text).results().count())
                    .as("tests that docs/%s names", page)
                    .isGreaterThan(30);
            assertThat(missing(text, classes))
                    .as("what docs/%s names as a test, and is none", page)
                    .isEmpty();
        }
    }

    @Test
    void aTestThatDoesNotExistIsFound(@TempDir Path root) {
        SourceFiles.write(
                root,
                "a/src/test/java/dev/one/GoodTest.java",
                "class GoodTest extends BaseLaw { @Test\n void own() {} void no() {} }");
        SourceFiles.write(
                root,
                "b/src/main/java/dev/two/BaseLaw.java",
                "class BaseLaw { @Law(1)\n public final void inherited() {} }");
        SourceFiles.write(
                root, "a/src/test/java/dev/one/TwiceTest.java", "class TwiceTest { /* @Test void x() {} */ }");
        SourceFiles.write(root, "b/src/test/java/dev/two/TwiceTest.java", "class TwiceTest {}");
        String page =
                "`GoodTest`, `GoodTest.own`, `GoodTest.inherited`, `one.TwiceTest`, and `GoodTest.no`, `GoodTest.gone`, "
                        + "`GoneTest`, `TwiceTest`, `three.TwiceTest`, `one.TwiceTest.x`";
        assertThat(missing(page, classes(root)))
                .containsExactly(
                        "GoneTest: no such class",
                        "GoodTest.gone: no such test",
                        "GoodTest.no: no such test",
                        "TwiceTest: 2 classes have this name, put the package's before it",
                        "one.TwiceTest.x: no such test",
                        "three.TwiceTest: no such class");
    }

    private static List<String> missing(String page, Map<String, List<Path>> classes) {
        TreeSet<String> missing = new TreeSet<>();
        Matcher named = NAMED.matcher(page);
        while (named.find()) {
            String whole = named.group().replace("`", "");
            String folder = "/" + named.group(1).replace('.', '/');
            List<Path> files = classes.getOrDefault(named.group(2), List.of()).stream()
                    .filter(file -> file.toString().endsWith(folder + named.group(2) + ".java"))
                    .toList();
            if (files.isEmpty()) {
                missing.add(whole + ": no such class");
            } else if (files.size() > 1) {
                missing.add(whole + ": " + files.size() + " classes have this name, put the package's before it");
            } else if (named.group(3) != null && !hasTest(files.get(0), named.group(3), classes)) {
                missing.add(whole + ": no such test");
            }
        }
        return List.copyOf(missing);
    }

    /** A test of a parent is one of its children, too. */
    private static boolean hasTest(Path file, String method, Map<String, List<Path>> classes) {
        String code = SourceFiles.code(file);
        Matcher declared = Pattern.compile("\\bvoid\\s+" + method + "\\s*\\(").matcher(code);
        while (declared.find()) {
            String before = code.substring(0, declared.start());
            // The annotations of a method stand between it and the end of the member before it.
            int begin = Math.max(before.lastIndexOf(";"), before.lastIndexOf("{}"));
            begin = Math.max(begin, before.lastIndexOf("}\n"));
            if (Pattern.compile("@(Test|Law|ParameterizedTest|RepeatedTest|Property)\\b")
                    .matcher(before.substring(Math.max(begin, 0)))
                    .find()) {
                return true;
            }
        }
        Matcher parent = PARENT.matcher(code);
        return parent.find()
                && classes.getOrDefault(parent.group(1), List.of()).stream()
                        .anyMatch(above -> !above.equals(file) && hasTest(above, method, classes));
    }

    private static Map<String, List<Path>> classes(Path root) {
        return SourceFiles.java(root).stream()
                .filter(file -> file.toString().matches(".*/src/(main|test)/java/.*"))
                .collect(Collectors.groupingBy(
                        file -> file.getFileName().toString().replace(".java", "")));
    }
}
