package dev.holdfast.benchmarks;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The options of a program: {@code --name value}, or {@code --quick}, which has none. */
final class Options {

    private final List<String> known;

    Options(String... known) {
        this.known = Arrays.asList(known);
    }

    Map<String, String> parse(String[] args) {
        Map<String, String> options = new HashMap<>();
        for (int i = 0; i < args.length; i++) {
            String name = args[i];
            boolean flag = name.equals("--quick");
            if (!known.contains(name) || (!flag && i + 1 == args.length)) {
                throw new IllegalArgumentException(name + " is not known or has no value; there are " + known);
            }
            options.put(name, flag ? "" : args[++i]);
        }
        return options;
    }
}
