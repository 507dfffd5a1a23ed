package dev.holdfast.zookeeper;

import dev.holdfast.testkit.process.ChildJvm;
import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Starts a server of ZooKeeper in a JVM of its own: of the version that the tests are compiled against or, if the property
 * {@value #JARS} names a folder, of the one whose jars are there.
 */
final class ServerProgram {

    private static final String JARS = "holdfast.zookeeper.server";

    private ServerProgram() {}

    /** Whether the tests use servers of another version than their own. */
    static boolean isOfAnotherVersion() {
        return !System.getProperty(JARS, "").isEmpty();
    }

    /** Starts this main class of ZooKeeper's with a file of settings. */
    static ChildJvm start(List<String> jvmOptions, String mainClass, String settings) {
        return startBehind(List.of(), jvmOptions, mainClass, settings);
    }

    /** The same with a command in front that replaces itself by the JVM. */
    static ChildJvm startBehind(List<String> prefix, List<String> jvmOptions, String mainClass, String settings) {
        List<String> options = new ArrayList<>(jvmOptions);
        if (isOfAnotherVersion()) {
            options.add("-D" + JARS + "=" + System.getProperty(JARS));
        }
        return ChildJvm.startBehind(prefix, options, ServerProgram.class, mainClass, settings);
    }

    public static void main(String[] arguments) throws Throwable {
        ClassLoader loader = isOfAnotherVersion() ? jars() : ServerProgram.class.getClassLoader();
        Thread.currentThread().setContextClassLoader(loader);
        try {
            loader.loadClass(arguments[0]).getMethod("main", String[].class).invoke(null, (Object)
                    new String[] {arguments[1]});
        } catch (InvocationTargetException failure) {
            throw failure.getCause();
        }
    }

    private static ClassLoader jars() throws MalformedURLException {
        File[] files = new File(System.getProperty(JARS)).listFiles();
        List<URL> urls = new ArrayList<>();
        for (File file : files == null ? new File[0] : files) {
            // A library that prints whatever the server does would be read by nobody.
            if (!file.getName().toLowerCase(Locale.ROOT).startsWith("logback")) {
                urls.add(file.toURI().toURL());
            }
        }
        return new URLClassLoader(urls.toArray(URL[]::new), ClassLoader.getPlatformClassLoader());
    }
}
