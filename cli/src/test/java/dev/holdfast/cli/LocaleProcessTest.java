package dev.holdfast.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.cli.output.ExitCode;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Names and arguments are the same bytes in every locale. printf(1) makes them, whatever the locale of this JVM is. */
class LocaleProcessTest extends ToolTest {

    /** A name and an argument of one letter each, in UTF-8. */
    private static final String WORDS = "u=$(printf '\\303\\274'); o=$(printf '\\303\\266'); ";

    private static final String WRITE =
            "'printf \"%s %s %s\" \"$HOLDFAST_LOCK\" \"$1\" \"${LC_ALL:-none}\" >out' x \"$o\"";

    private static final String LOCALE =
            Path.of("../tools/locale.sh").toAbsolutePath().toString();

    @ParameterizedTest
    @CsvSource({
        "LC_ALL, C, C",
        "LANG, C, none",
        "LC_CTYPE, en_US.ISO-8859-1, none",
        "LANG, C.utf8, none",
        "LANG, xx_YY.UTF-8, none"
    })
    void namesAndArgumentsAreTheSameInEveryLocale(String variable, String locale, String ofTheCommand) {
        inLocale(variable, locale);

        Tool.Result result = shell(WORDS + ". " + LOCALE + "; exec_in_utf8 \"$@\" run \"$u\" -- sh -c " + WRITE);

        assertThat(result).isEqualTo(new Tool.Result(0, "", ""));
        assertThat(tool.text("out")).isEqualTo("\u00FC \u00F6 " + ofTheCommand);
    }

    @Test
    void namesAreShownInUtf8() {
        inLocale("LC_ALL", "C");

        Tool.Result result = shell(WORDS + ". " + LOCALE
                + "; ( exec_in_utf8 \"$@\" run \"$u\" -- true ); exec_in_utf8 \"$@\" show \"$u\"");

        assertThat(result.out() + result.err()).contains("\u00FC");
    }

    @Test
    void withoutTheScriptAnotherLocaleIsRefusedInsteadOfTakingTwoNamesForOne() {
        inLocale("LC_ALL", "C");

        Tool.Result result = shell(WORDS + "exec \"$@\" run \"$u\" -- sh -c " + WRITE);

        assertThat(result.exit()).isEqualTo(ExitCode.USAGE);
        assertThat(result.err()).contains("the locale is not UTF-8: set LC_ALL=C.UTF-8");
        assertThat(tool.text("out")).isEmpty();
    }

    @Test
    void whatIsNotUtf8IsRefused() {
        inLocale("LC_ALL", "C.UTF-8");

        Tool.Result result = shell("exec \"$@\" run \"$(printf '\\374')\" -- true");

        assertThat(result.exit()).isEqualTo(ExitCode.USAGE);
        assertThat(result.err()).contains("is not UTF-8");
    }

    private void inLocale(String variable, String locale) {
        tool.with("LC_ALL", "").with("LC_CTYPE", "").with("LANG", "").with(variable, locale);
    }

    /** Runs a script of bash that finds in its arguments what starts the tool. */
    private Tool.Result shell(String script) {
        List<String> command = new ArrayList<>(List.of("bash", "-c", script, "bash"));
        command.addAll(tool.java());
        return tool.startCommand("", command).await();
    }
}
