package dev.holdfast.cli.process;

import dev.holdfast.cli.output.ExitCode;
import dev.holdfast.cli.output.Failure;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;

/** The shell scripts of this package, as texts for {@code sh -c}. */
final class ScriptText {

    private ScriptText() {}

    /** The script without its comments, which ps(1) would otherwise show. */
    static String of(String name) {
        try (InputStream resource = ScriptText.class.getResourceAsStream(name)) {
            if (resource == null) {
                throw new Failure(ExitCode.INTERNAL, name + " is missing in the tool's jar: build it again");
            }
            return withoutComments(new String(resource.readAllBytes(), StandardCharsets.UTF_8));
        } catch (IOException unreadable) {
            throw new Failure(
                    ExitCode.INTERNAL, "cannot read " + name + " in the tool's jar: build it again", unreadable);
        }
    }

    private static String withoutComments(String script) {
        StringBuilder text = new StringBuilder(script.length());
        int at = 0;
        while (at < script.length()) {
            int end = script.indexOf('\n', at) + 1;
            end = end == 0 ? script.length() : end;
            if (script.charAt(at) != '#') {
                text.append(script, at, end);
            }
            at = end;
        }
        return text.toString();
    }
}
