package dev.holdfast.store;

import java.util.ArrayList;
import java.util.List;

/**
 * The fields of a line of text, separated by tabs, as stores keep records that a person can read. A backslash, a tab, a line
 * feed or a carriage return inside a field is written as {@code \\}, {@code \t}, {@code \n}, {@code \r}, so that a field may
 * be any text and a line never has a line feed inside. Stateless.
 */
public final class EscapedFields {

    /** What is between two fields. */
    public static final char SEPARATOR = '\t';

    private EscapedFields() {}

    /** Appends a separator and a field. */
    public static void append(StringBuilder line, String field) {
        line.append(SEPARATOR);
        appendFirst(line, field);
    }

    /** Appends a field without a separator before it. */
    public static void appendFirst(StringBuilder line, String field) {
        for (int i = 0; i < field.length(); i++) {
            char c = field.charAt(i);
            switch (c) {
                case '\\' -> line.append("\\\\");
                case '\t' -> line.append("\\t");
                case '\n' -> line.append("\\n");
                case '\r' -> line.append("\\r");
                default -> line.append(c);
            }
        }
    }

    /** The fields of a line without its line feed; at least one, which may be empty. */
    public static List<String> split(String line) {
        List<String> fields = new ArrayList<>();
        StringBuilder field = new StringBuilder();
        for (int i = 0; i < line.length(); i++) {
            char c = line.charAt(i);
            if (c == SEPARATOR) {
                fields.add(field.toString());
                field.setLength(0);
            } else if (c == '\\' && i + 1 < line.length()) {
                i++;
                field.append(unescaped(line.charAt(i)));
            } else {
                field.append(c);
            }
        }
        fields.add(field.toString());
        return fields;
    }

    private static char unescaped(char c) {
        return switch (c) {
            case 't' -> '\t';
            case 'n' -> '\n';
            case 'r' -> '\r';
            default -> c;
        };
    }
}
