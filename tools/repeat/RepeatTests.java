import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Modifier;
import java.net.URL;
import java.net.URLClassLoader;
import java.sql.Driver;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

/**
 * Runs one test class again and again for a while, beside threads that keep the cores busy, and prints what failed. The arguments
 * are the class, the seconds, and the number of those threads; the property {@code repeated.classes} is the path of the classes and
 * libraries that are loaded anew for each fifth run. The exit code is 1 if a test failed. See {@code repeat-tests.sh}.
 */
final class RepeatTests implements TestExecutionListener {

    /** The most failures of one test that are printed with their stacks. */
    private static final int MOST_SHOWN = 2;

    private static final int RUNS_WITH_THE_SAME_CLASSES = 5;
    private static final int MOST_FRAMES = 8;
    private static final int MOST_TEXT = 700;

    private final PrintStream out;
    private final Map<String, Integer> failures = new TreeMap<>();
    private int runs;
    private int tests;

    private RepeatTests(PrintStream out) {
        this.out = out;
    }

    public static void main(String[] arguments) throws IOException, ClassNotFoundException {
        Duration time = Duration.ofSeconds(Long.parseLong(arguments[1]));
        for (int i = Integer.parseInt(arguments[2]); i > 0; i--) {
            keepACoreBusy();
        }
        // From there the tests start JVMs with their own classes.
        System.setProperty("java.class.path", System.getProperty("repeated.classes"));
        RepeatTests repeated = new RepeatTests(System.out);
        // What the tests print would hide what is printed here.
        System.setOut(new PrintStream(OutputStream.nullOutputStream()));
        System.setErr(new PrintStream(OutputStream.nullOutputStream()));
        repeated.run(arguments[0], time);
        System.exit(repeated.failures.isEmpty() ? 0 : 1);
    }

    private static void keepACoreBusy() {
        Thread busy = new Thread(
                () -> {
                    while (true) {
                        Thread.onSpinWait();
                    }
                },
                "busy");
        busy.setDaemon(true);
        busy.start();
    }

    private void run(String name, Duration time) throws IOException, ClassNotFoundException {
        long begin = System.nanoTime();
        do {
            runWithNewClasses(name, begin + time.toNanos());
        } while (System.nanoTime() - begin < time.toNanos());
        out.printf(
                "%s: %d runs, %d tests, %d s%s%n",
                name,
                runs,
                tests,
                Duration.ofNanos(System.nanoTime() - begin).toSeconds(),
                failures.isEmpty() ? "" : ", FAILED: " + failures);
    }

    // With a class loader of its own, each run has its own static fields: servers, and the seed. Some runs share one, because
    // compiled code meets other schedules than code that runs for the first time.
    private void runWithNewClasses(String name, long end) throws IOException, ClassNotFoundException {
        List<URL> path = new ArrayList<>();
        for (String place : System.getProperty("repeated.classes").split(File.pathSeparator)) {
            path.add(new File(place).toURI().toURL());
        }
        Thread thread = Thread.currentThread();
        ClassLoader usual = thread.getContextClassLoader();
        // It is not closed: what ends the servers when this JVM ends needs further classes.
        ClassLoader own = new URLClassLoader(path.toArray(URL[]::new), usual);
        try {
            thread.setContextClassLoader(own);
            // The JDK looks for drivers of databases once, and so finds only those of the first classes.
            ServiceLoader.load(Driver.class).stream().forEach(ServiceLoader.Provider::get);
            LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
                    .selectors(DiscoverySelectors.selectClass(own, name))
                    .configurationParameter("junit.jupiter.execution.timeout.default", "10 m")
                    .configurationParameter("junit.jupiter.execution.timeout.threaddump.enabled", "true")
                    .build();
            int sharing = closesWhatIsStatic(own.loadClass(name)) ? 1 : RUNS_WITH_THE_SAME_CLASSES;
            do {
                runs++;
                LauncherFactory.create().execute(request, this);
                sharing--;
            } while (sharing > 0 && System.nanoTime() - end < 0);
        } finally {
            thread.setContextClassLoader(usual);
        }
    }

    // A server of this class that is started when the class is initialised is gone after the first run; one that classes inherit
    // serves all of them.
    private static boolean closesWhatIsStatic(Class<?> tests) {
        return Stream.of(tests.getDeclaredFields())
                .filter(field -> Modifier.isStatic(field.getModifiers()))
                .anyMatch(field -> Stream.of(field.getAnnotations())
                                .anyMatch(one -> one.annotationType().getSimpleName().equals("AutoClose"))
                        || AutoCloseable.class.isAssignableFrom(field.getType()));
    }

    @Override
    public void executionFinished(TestIdentifier test, TestExecutionResult result) {
        tests += test.isTest() ? 1 : 0;
        if (result.getStatus() == TestExecutionResult.Status.FAILED) {
            int times = failures.merge(test.getDisplayName(), 1, Integer::sum);
            if (times <= MOST_SHOWN) {
                out.println("Run " + runs + ": " + test.getDisplayName() + " failed");
                result.getThrowable().ifPresent(this::print);
            }
        }
    }

    private void print(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            String text = cause.toString();
            out.println("  " + (text.length() > MOST_TEXT ? text.substring(0, MOST_TEXT) + "..." : text));
            StackTraceElement[] stack = cause.getStackTrace();
            for (int i = 0, shown = 0; i < stack.length && shown < MOST_FRAMES; i++) {
                if (stack[i].getClassName().startsWith("dev.holdfast")) {
                    out.println("    at " + stack[i]);
                    shown++;
                }
            }
        }
    }
}
