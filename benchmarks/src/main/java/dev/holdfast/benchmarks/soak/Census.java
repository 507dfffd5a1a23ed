package dev.holdfast.benchmarks.soak;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BooleanSupplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.management.JMException;
import javax.management.ObjectName;

/**
 * What this process has at a moment, after a full collection: its threads by name, its open files and connections by kind, the
 * objects of each class of ours, and its heap. {@link #growthSince} compares two moments.
 *
 * @param threads how many threads have a name, with its digits taken out
 * @param handles how many open files there are of each kind
 * @param objects how many objects there are of each class of ours
 * @param heapBytes the size of all objects
 */
record Census(Map<String, Integer> threads, Map<String, Integer> handles, Map<String, Long> objects, long heapBytes) {

    private static final String OURS = "dev.holdfast.";
    private static final Pattern ROW = Pattern.compile("\\s*\\d+:\\s+(\\d+)\\s+(\\d+)\\s+(\\S+).*");
    /** Threads that the JDK and Netty start when they like, and end by themselves. */
    private static final Pattern OF_OTHERS = Pattern.compile("process reaper.*|globalEventExecutor.*|ForkJoinPool.*|"
            + "CompletableFutureDelayScheduler|HttpClient-.*|Attach Listener|RMI .*|JMX .*|junit.*");

    private static final Pattern LAMBDA = Pattern.compile("\\$\\$Lambda.*");

    /** Takes a census. */
    static Census take() {
        Map<String, Long> objects = new TreeMap<>();
        long heap = 0;
        for (String line : histogram().split("\n")) {
            Matcher row = ROW.matcher(line);
            if (row.matches()) {
                heap += Long.parseLong(row.group(2));
                String type = LAMBDA.matcher(row.group(3)).replaceAll("/lambda");
                if (type.startsWith(OURS)) {
                    objects.merge(type, Long.parseLong(row.group(1)), Long::sum);
                }
            }
        }
        return new Census(threadsNow(), handlesNow(), objects, heap);
    }

    /**
     * Takes one when threads, handles and objects are down to what they were, or the time is over: a thread that has been told to
     * end needs a moment for it, and what a timer keeps is garbage when it has run.
     */
    static Census takeWhenSettled(Census before, long slack, Settling settling) {
        settling.await(() -> growth(before.threads, threadsNow(), 0).isEmpty()
                && handlesSince(before.handles, handlesNow()).isEmpty()
                && take().objectsSince(before, slack, List.of()).isEmpty());
        return take();
    }

    /** Waits for a condition, for a limited time. */
    interface Settling {
        void await(BooleanSupplier condition);
    }

    private static Map<String, Integer> threadsNow() {
        return Thread.getAllStackTraces().keySet().stream()
                .map(Thread::getName)
                .filter(name -> !OF_OTHERS.matcher(name).matches())
                .collect(Collectors.toMap(name -> name.replaceAll("\\d+", "#"), name -> 1, Integer::sum, TreeMap::new));
    }

    private static Map<String, Integer> handlesNow() {
        Map<String, Integer> kinds = new TreeMap<>();
        Sockets.handles().forEach(kind -> kinds.merge(kind, 1, Integer::sum));
        return kinds;
    }

    // The JVM collects all garbage before it counts.
    private static String histogram() {
        try {
            return (String) ManagementFactory.getPlatformMBeanServer()
                    .invoke(
                            new ObjectName("com.sun.management:type=DiagnosticCommand"),
                            "gcClassHistogram",
                            new Object[] {new String[0]},
                            new String[] {String[].class.getName()});
        } catch (JMException failed) {
            throw new IllegalStateException("This JVM does not count its objects", failed);
        }
    }

    int threadCount() {
        return threads.values().stream().mapToInt(Integer::intValue).sum();
    }

    int handleCount() {
        return handles.values().stream().mapToInt(Integer::intValue).sum();
    }

    long objectCount() {
        return objects.values().stream().mapToLong(Long::longValue).sum();
    }

    /**
     * What there is more of than before.
     *
     * @param slack how many more objects of one class are no leak
     * @param heapSlack how many more bytes are none
     */
    List<String> growthSince(Census before, long slack, long heapSlack) {
        List<String> all = new ArrayList<>();
        growth(before.threads, threads, 0).forEach(name -> all.add("threads: " + name));
        all.addAll(handlesSince(before.handles, handles));
        all.addAll(objectsSince(before, slack, List.of()));
        if (heapBytes - before.heapBytes > heapSlack) {
            all.add("heap: " + before.heapBytes + " bytes before, " + heapBytes + " now");
        }
        return all;
    }

    /** Which classes have more objects than before, by more than the slack; those that begin like one of these are left out. */
    List<String> objectsSince(Census before, long slack, List<String> growing) {
        return growth(before.objects, objects, slack).stream()
                .filter(line -> growing.stream().noneMatch(line::startsWith))
                .map(line -> "objects: " + line)
                .toList();
    }

    // Nothing of ours sends datagrams. Netty's resolver of names does, which Lettuce uses where it is on the class
    // path.
    // Of a hundred clients of Lettuce some five leave its socket open when they are closed.
    private static List<String> handlesSince(Map<String, Integer> before, Map<String, Integer> after) {
        return growth(before, after, 0).stream()
                .filter(line -> !line.startsWith(Sockets.DATAGRAM))
                .map(line -> "handles: " + line)
                .toList();
    }

    private static List<String> growth(
            Map<String, ? extends Number> before, Map<String, ? extends Number> after, long slack) {
        List<String> grown = new ArrayList<>();
        after.forEach((name, count) -> {
            Number known = before.get(name);
            long then = known == null ? 0 : known.longValue();
            if (count.longValue() > then + slack) {
                grown.add(name + ", " + then + " before, " + count + " now");
            }
        });
        return grown;
    }
}
