package dev.holdfast.micrometer;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;

/**
 * Turns the names of locks into groups, of which there are few: each group is a time series of every metric, for as long as the
 * program runs. There are never more groups than {@link #withMost} says; names that would make further ones are in the
 * group {@code other}.
 *
 * <p>Immutable but for the groups that were seen; thread-safe.
 */
public final class LockGroups {

    /** The group of all names for which there is no room. */
    public static final String OTHER = "other";

    private static final int MOST = 100;
    private static final String UUID = "\\p{XDigit}{8}(?:-\\p{XDigit}{4}){3}-\\p{XDigit}{12}";
    private static final String PART_WITH_DIGIT = "[^:/.,#_ -]*\\d[^:/.,#_ -]*";
    private static final Pattern VARIES = Pattern.compile(UUID + "|" + PART_WITH_DIGIT);

    private final UnaryOperator<String> groupOf;
    private final int most;
    private final Set<String> seen = ConcurrentHashMap.newKeySet();

    private LockGroups(UnaryOperator<String> groupOf, int most) {
        this.groupOf = groupOf;
        this.most = most;
    }

    /**
     * Groups by what is not a number: every part of a name with a digit in it becomes a star. {@code order:42} is in the group
     * {@code order:*}, and a UUID is {@code *}.
     */
    public static LockGroups byPattern() {
        return by(name -> VARIES.matcher(name).replaceAll("*"));
    }

    /** Groups by a function of the program's. It must be quick and thread-safe: it is called at every event. */
    public static LockGroups by(UnaryOperator<String> groupOf) {
        return new LockGroups(groupOf, MOST);
    }

    /** Each name is a group of its own. For programs that have few names. */
    public static LockGroups byName() {
        return by(name -> name);
    }

    /**
     * The same with another bound; the default is 100.
     *
     * @param groups at least 1
     * @throws IllegalArgumentException if it is less
     */
    public LockGroups withMost(int groups) {
        if (groups < 1) {
            throw new IllegalArgumentException("There must be room for at least one group, not " + groups);
        }
        return new LockGroups(groupOf, groups);
    }

    /** The group of a name: the same at each call, unless it was {@link #OTHER}'s turn when it was first seen. */
    public String of(String name) {
        String group = groupOf.apply(name);
        if (seen.contains(group)) {
            return group;
        }
        // So that threads that come at once do not pass the bound together; it is rare, as there are few groups.
        synchronized (seen) {
            if (seen.size() < most) {
                seen.add(group);
            }
            return seen.contains(group) ? group : OTHER;
        }
    }
}
