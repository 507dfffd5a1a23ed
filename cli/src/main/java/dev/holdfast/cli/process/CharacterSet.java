package dev.holdfast.cli.process;

import dev.holdfast.cli.output.Failure;
import java.io.IOException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * The character set of names and arguments, which is UTF-8 whatever the locale is. In another one the JVM replaces the
 * characters that it cannot read, so that two names could become one. {@code ./holdfast} starts the JVM in UTF-8
 * ({@code tools/locale.sh}).
 */
public final class CharacterSet {

    private static final String SAVED = "HOLDFAST_LC_ALL";

    private static final char UNREADABLE = '\uFFFD';

    private CharacterSet() {}

    /**
     * Refuses arguments that the JVM may have read as others.
     *
     * @throws Failure with 64
     */
    public static void requireReadable(List<String> arguments) {
        if (!isUtf8() && hasOtherThanAscii()) {
            throw Failure.usage("an argument is not ASCII, and the locale is not UTF-8: set LC_ALL=C.UTF-8");
        }
        for (String argument : arguments) {
            if (argument.indexOf(UNREADABLE) >= 0) {
                throw Failure.usage("the argument \"" + argument + "\" is not UTF-8");
            }
        }
    }

    private static boolean isUtf8() {
        String name = System.getProperty("sun.jnu.encoding", "");
        return Charset.isSupported(name) && Charset.forName(name).equals(StandardCharsets.UTF_8);
    }

    // Where the JVM puts a question mark for what it cannot read, only the system knows what was there.
    private static boolean hasOtherThanAscii() {
        try {
            for (byte one : Files.readAllBytes(Path.of("/proc/self/cmdline"))) {
                if (one < 0) {
                    return true;
                }
            }
            return false;
        } catch (IOException noSuchSystem) {
            return false;
        }
    }

    /** Gives the command the locale back that the tool was started with. */
    static void giveBackLocale(Map<String, String> environment) {
        String saved = environment.remove(SAVED);
        if (saved == null) {
            return;
        }
        if (saved.isEmpty()) {
            environment.remove("LC_ALL");
        } else {
            environment.put("LC_ALL", saved);
        }
    }
}
