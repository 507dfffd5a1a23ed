package dev.holdfast.cli.output;

import java.util.ArrayList;
import java.util.List;

/** Text in columns, two spaces apart. Columns are as wide as their widest cell; the last one is not padded. */
public final class Table {

    private final List<String[]> rows = new ArrayList<>();

    public Table row(String... cells) {
        rows.add(cells);
        return this;
    }

    @Override
    public String toString() {
        int[] widths = new int[rows.stream().mapToInt(row -> row.length).max().orElse(0)];
        for (String[] row : rows) {
            for (int i = 0; i < row.length; i++) {
                widths[i] = Math.max(widths[i], row[i].codePointCount(0, row[i].length()));
            }
        }
        StringBuilder text = new StringBuilder();
        for (String[] row : rows) {
            int start = text.length();
            for (int i = 0; i < row.length; i++) {
                text.append(row[i]);
                if (i < row.length - 1) {
                    text.append(" ".repeat(widths[i] - row[i].codePointCount(0, row[i].length()) + 2));
                }
            }
            while (text.length() > start && text.charAt(text.length() - 1) == ' ') {
                text.setLength(text.length() - 1);
            }
            text.append(System.lineSeparator());
        }
        return text.toString();
    }
}
