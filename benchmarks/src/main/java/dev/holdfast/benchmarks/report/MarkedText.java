package dev.holdfast.benchmarks.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A page in which a program writes the lines between two marks; the rest is written by hand. */
public final class MarkedText {

    private static final String BEGIN = "<!-- begin %s: written by a program, do not edit -->";
    private static final String END = "<!-- end %s -->";

    private MarkedText() {}

    /** Replaces what is between the marks of this name. */
    public static void replace(Path page, String name, String text) throws IOException {
        String all = Files.readString(page);
        String begin = BEGIN.formatted(name);
        String end = END.formatted(name);
        int from = all.indexOf(begin);
        int to = all.indexOf(end);
        if (from < 0 || to < from) {
            throw new IllegalArgumentException(page + " has no lines \"" + begin + "\" and \"" + end + "\"");
        }
        Files.writeString(page, all.substring(0, from + begin.length()) + "\n" + text + all.substring(to));
    }
}
