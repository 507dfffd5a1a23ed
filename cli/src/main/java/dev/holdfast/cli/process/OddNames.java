package dev.holdfast.cli.process;

import java.util.List;
import java.util.Map;

/**
 * Variables with names that no shell accepts, such as {@code spring.datasource.password}. Many shells drop them, so
 * they pass the shell under other names, and env(1) gives them their own back. It is told names only: everybody on the
 * machine can see the arguments of a process.
 */
final class OddNames {

    private static final String OTHER_NAME = "HOLDFAST_VARIABLE_";

    private OddNames() {}

    /**
     * Gives these variables other names.
     *
     * @return the arguments of env(1) that give them their own back, as text that means the same to a shell and to
     *     {@code env -S}; it is {@code --} if there are none
     */
    static String replace(Map<String, String> environment) {
        StringBuilder removed = new StringBuilder();
        StringBuilder assigned = new StringBuilder("--");
        int number = 0;
        for (String name : List.copyOf(environment.keySet())) {
            if (isShellName(name)) {
                continue;
            }
            while (environment.containsKey(OTHER_NAME + number)) {
                number++;
            }
            String other = OTHER_NAME + number;
            environment.put(other, environment.remove(name));
            removed.append("-u ").append(other).append(' ');
            assigned.append(' ')
                    .append(quoted(name))
                    .append("=\"${")
                    .append(other)
                    .append("}\"");
        }
        return removed.append(assigned).toString();
    }

    /** In single quotes but for what these treat differently: a shell has no escapes in them, and env(1) has. */
    private static String quoted(String name) {
        return "'" + name.replaceAll("['\\\\]", "'\\\\$0'") + "'";
    }

    private static boolean isShellName(String name) {
        for (int i = 0; i < name.length(); i++) {
            char c = name.charAt(i);
            boolean letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
            if (!letter && !(i > 0 && c >= '0' && c <= '9')) {
                return false;
            }
        }
        return true;
    }
}
