package dev.holdfast.workload;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A line of JSON: an object of texts, numbers and lists of whole numbers. Orders to workers, their answers and the raw
 * results have this form. Not thread-safe.
 */
public final class Fields {

    private final Map<String, Object> values = new LinkedHashMap<>();

    /** Sets a field; the order of the fields is that of the first calls. */
    public Fields with(String name, String value) {
        values.put(name, value);
        return this;
    }

    public Fields with(String name, long value) {
        values.put(name, value);
        return this;
    }

    public Fields with(String name, double value) {
        values.put(name, value);
        return this;
    }

    public Fields with(String name, List<Long> value) {
        values.put(name, List.copyOf(value));
        return this;
    }

    /** All fields of another one. */
    public Fields with(Fields other) {
        values.putAll(other.values);
        return this;
    }

    public boolean has(String name) {
        return values.containsKey(name);
    }

    /** The text; empty if there is none. */
    public String text(String name) {
        Object value = values.get(name);
        return value instanceof String text ? text : "";
    }

    /** The number; zero if there is none. */
    public long whole(String name) {
        Object value = values.get(name);
        return value instanceof Number number ? number.longValue() : 0;
    }

    /** The number; NaN if there is none. */
    public double real(String name) {
        Object value = values.get(name);
        return value instanceof Number number ? number.doubleValue() : Double.NaN;
    }

    /** The numbers; empty if there are none. */
    public List<Long> list(String name) {
        List<Long> list = new ArrayList<>();
        if (values.get(name) instanceof List<?> numbers) {
            numbers.forEach(number -> list.add(((Number) number).longValue()));
        }
        return list;
    }

    /** One line of JSON. Numbers that are not finite are left out. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("{");
        values.forEach((name, value) -> {
            if (value instanceof Double real && !Double.isFinite(real)) {
                return;
            }
            text.append(text.length() == 1 ? "" : ", ");
            quote(text, name);
            text.append(": ");
            if (value instanceof String string) {
                quote(text, string);
            } else if (value instanceof Double real) {
                text.append(String.format(Locale.ROOT, Math.abs(real) < 1000 ? "%.4f" : "%.1f", real));
            } else {
                text.append(value);
            }
        });
        return text.append('}').toString();
    }

    private static void quote(StringBuilder text, String value) {
        text.append('"');
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            if (c == '"' || c == '\\') {
                text.append('\\').append(c);
            } else if (c < ' ') {
                text.append(String.format("\\u%04x", (int) c));
            } else {
                text.append(c);
            }
        }
        text.append('"');
    }

    /**
     * Reads a line that {@link #toString} wrote.
     *
     * @throws IllegalArgumentException if it is anything else
     */
    public static Fields parse(String line) {
        return new Parser(line).object();
    }

    private static final class Parser {
        private final String line;
        private int at;

        Parser(String line) {
            this.line = line;
        }

        Fields object() {
            Fields fields = new Fields();
            expect('{');
            while (next() != '}') {
                if (!fields.values.isEmpty()) {
                    expect(',');
                }
                String name = string();
                expect(':');
                fields.values.put(name, value());
            }
            return fields;
        }

        private Object value() {
            char first = next();
            if (first == '"') {
                return string();
            } else if (first != '[') {
                return number();
            }
            List<Number> numbers = new ArrayList<>();
            expect('[');
            while (next() != ']') {
                if (!numbers.isEmpty()) {
                    expect(',');
                }
                next();
                numbers.add(number());
            }
            expect(']');
            return numbers;
        }

        private Number number() {
            int start = at;
            while (at < line.length() && "+-.eE0123456789".indexOf(line.charAt(at)) >= 0) {
                at++;
            }
            String number = line.substring(start, at);
            try {
                return number.matches("-?\\d+") ? (Number) Long.valueOf(number) : (Number) Double.valueOf(number);
            } catch (NumberFormatException wrong) {
                throw wrong(wrong);
            }
        }

        private String string() {
            expect('"');
            StringBuilder text = new StringBuilder();
            while (at < line.length() && line.charAt(at) != '"') {
                char c = line.charAt(at++);
                if (c == '\\' && at < line.length()) {
                    c = line.charAt(at++);
                    if (c == 'u' && at + 4 <= line.length()) {
                        c = (char) Integer.parseInt(line.substring(at, at + 4), 16);
                        at += 4;
                    }
                }
                text.append(c);
            }
            expect('"');
            return text.toString();
        }

        private char next() {
            while (at < line.length() && line.charAt(at) == ' ') {
                at++;
            }
            if (at == line.length()) {
                throw wrong(null);
            }
            return line.charAt(at);
        }

        private void expect(char wanted) {
            if (next() != wanted) {
                throw wrong(null);
            }
            at++;
        }

        private IllegalArgumentException wrong(@Nullable Throwable cause) {
            String about = line.length() > 200 ? line.substring(0, 200) + "..." : line;
            return new IllegalArgumentException("Not a line of fields, at character " + at + ": " + about, cause);
        }
    }
}
