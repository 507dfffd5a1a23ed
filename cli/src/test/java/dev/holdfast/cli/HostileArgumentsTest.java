package dev.holdfast.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.cli.output.ExitCode;
import dev.holdfast.testkit.Seeds;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Whatever the arguments of the tool are, it ends with a code of its own and says why in one line, which has no control characters: a
 * terminal would obey them. The commands that run others are in {@code LocaleProcessTest}, {@code RunProcessTest} and {@code
 * RunCommandTest}.
 */
class HostileArgumentsTest {

    private static final int TRIES = 600;
    private static final int MOST_WORDS = 4;
    private static final String LONG = "x".repeat(100_000);

    private static final List<String> COMMANDS =
            List.of("list", "show", "break", "schema", "completion", "", "nosuch", "LIST", "-V", "list\n");

    private static final List<String> WORDS = List.of(
            "--",
            "---",
            "-",
            "",
            " ",
            "--store",
            "--store=",
            "--store=nosuch:x",
            "--json",
            "--json=maybe",
            "--yes",
            "--yes=",
            "--limit",
            "--limit=-1",
            "--limit=99999999999999999999",
            "--prefix",
            "-v",
            "-vvv",
            "-\u00fc",
            "@file",
            "@@",
            "${sys:user.home}",
            "%s%n",
            "$(reboot)",
            "'; DROP TABLE holdfast_lock; --",
            "\u001b[2Jcleared",
            "--\u001b]0;title\u0007",
            "--no\u001bsuch=1",
            "a\u0007b",
            "a\rb",
            "a\nb",
            "a\tb",
            "\u009b31m",
            "\u202egnp",
            "\u2067\u200f\u061cgnp",
            "\ud83d\udd12",
            "\ud800",
            "x".repeat(255),
            "x".repeat(256),
            LONG,
            "--" + LONG);

    @TempDir
    Path folder;

    private final PrintStream out = System.out;
    private final PrintStream err = System.err;
    private final ByteArrayOutputStream said = new ByteArrayOutputStream();
    private final ByteArrayOutputStream shown = new ByteArrayOutputStream();

    @BeforeEach
    void listen() {
        System.setOut(new PrintStream(shown, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(said, true, StandardCharsets.UTF_8));
    }

    @AfterEach
    void listenNoMore() {
        System.setOut(out);
        System.setErr(err);
    }

    @Test
    void everyEndIsOneLineAndACode() {
        Random random = new Random(Seeds.of("hostile arguments"));
        for (int i = 0; i < TRIES; i++) {
            List<String> words = new ArrayList<>(List.of(COMMANDS.get(random.nextInt(COMMANDS.size()))));
            words.addAll(List.of("--store", "sqlite:" + folder.resolve("locks.db")));
            for (int n = random.nextInt(MOST_WORDS + 1); n > 0; n--) {
                // Not before the store, which would then be the one of whoever runs this test.
                words.add(3 + random.nextInt(words.size() - 2), WORDS.get(random.nextInt(WORDS.size())));
            }
            assertHonest(words);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"a\nb", "a\u001b[2Jb", "a\u009b2Jb", "a\u0000b"})
    void namesWithControlCharactersAreRefusedAndNotObeyed(String name) {
        int code = assertHonest(List.of("show", "--store", "sqlite:" + folder.resolve("locks.db"), name));
        assertThat(code).isEqualTo(ExitCode.USAGE);
    }

    /** A terminal would write what follows from right to left. */
    @Test
    void nothingToBreakIsSaidWithoutMarksOfDirection() {
        int code =
                assertHonest(List.of("break", "--store", "sqlite:" + folder.resolve("locks.db"), "--yes", "\u202egnp"));
        assertThat(code).isEqualTo(ExitCode.BUSY);
        assertThat(said.toString(StandardCharsets.UTF_8)).contains("\"?gnp\"");
    }

    private int assertHonest(List<String> words) {
        said.reset();
        shown.reset();
        int code = Main.execute(words.toArray(String[]::new), System.nanoTime());
        String message = said.toString(StandardCharsets.UTF_8);
        String what = words.stream()
                        .map(word -> word.length() > 300 ? "(long)" : word)
                        .toList() + " said " + message;
        assertThat(code).as(what).isIn(ExitCode.OK, ExitCode.BUSY, ExitCode.USAGE, ExitCode.UNAVAILABLE);
        if (code >= ExitCode.USAGE && words.stream().noneMatch(word -> word.startsWith("-v"))) {
            assertThat(message).as(what).startsWith("holdfast: ");
            assertThat(message.strip().lines()).as(what).hasSize(1);
        }
        assertThat(message).as(what).doesNotContainPattern("[\\u061C\\u200E\\u200F\\u202A-\\u202E\\u2066-\\u2069]");
        for (String text : List.of(message, shown.toString(StandardCharsets.UTF_8))) {
            assertThat(text.replace("\n", "").replace("\t", "").chars().noneMatch(Character::isISOControl))
                    .as("no control characters in the answer to %s", what)
                    .isTrue();
        }
        return code;
    }
}
