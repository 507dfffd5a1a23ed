package dev.holdfast.redis;

import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodType;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.URISyntaxException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Our code, loaded once more, beside another version of a client library than the one that the tests run with. */
public final class OtherVersion implements AutoCloseable {

    /** What javap writes of a method or field that a class names. */
    private static final Pattern MEMBER =
            Pattern.compile("= (?:(?:Interface)?Methodref|Fieldref) .*// ([a-z][^.\"]*\\.\\S+:\\S+)");

    private final URLClassLoader loader;

    private OtherVersion(List<URL> classPath) {
        this.loader = new URLClassLoader(classPath.toArray(new URL[0]), ClassLoader.getPlatformClassLoader());
    }

    /**
     * Another version.
     *
     * @param replaced a class of the version that the tests run with
     * @param jar a jar that Maven has copied for this module's tests, or none, so that there is no such library
     */
    public static OtherVersion insteadOf(Class<?> replaced, String... jar) {
        try {
            List<URL> classPath = new ArrayList<>();
            for (String file : jar) {
                classPath.add(Path.of("target", "other-versions", file)
                        .toRealPath()
                        .toUri()
                        .toURL());
            }
            for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
                classPath.add(Path.of(entry).toUri().toURL());
            }
            classPath.remove(replaced.getProtectionDomain().getCodeSource().getLocation());
            return new OtherVersion(classPath);
        } catch (IOException missing) {
            throw new UncheckedIOException(missing);
        }
    }

    /** What {@code Holdfast.connect} does beside that version. */
    public void connect(String url) throws Throwable {
        Thread current = Thread.currentThread();
        ClassLoader before = current.getContextClassLoader();
        current.setContextClassLoader(loader);
        try {
            loader.loadClass("dev.holdfast.Holdfast")
                    .getMethod("connect", String.class)
                    .invoke(null, url);
        } catch (InvocationTargetException failure) {
            throw failure.getCause();
        } finally {
            current.setContextClassLoader(before);
        }
    }

    /**
     * The methods and fields that a module of ours names, as javap writes them. What NewCalls names is left out, because
     * that class looks first whether it is there.
     *
     * @param ours a class of the module
     */
    public static Set<String> namedBy(Class<?> ours) {
        try (Stream<Path> files = Files.walk(
                Path.of(ours.getProtectionDomain().getCodeSource().getLocation().toURI()))) {
            Stream<String> classes =
                    files.map(Path::toString).filter(file -> file.endsWith(".class") && !file.contains("NewCalls"));
            StringWriter text = new StringWriter();
            PrintWriter writer = new PrintWriter(text);
            ToolProvider.findFirst("javap")
                    .orElseThrow()
                    .run(
                            writer,
                            writer,
                            Stream.concat(Stream.of("-v", "-p"), classes).toArray(String[]::new));
            return MEMBER.matcher(text.toString())
                    .results()
                    .map(named -> named.group(1))
                    .collect(Collectors.toSet());
        } catch (IOException | URISyntaxException unreadable) {
            throw new IllegalStateException(unreadable);
        }
    }

    /** Those of the methods and fields that are not there beside that version. */
    public List<String> missing(Set<String> named) {
        return named.stream().filter(member -> !isThere(member)).sorted().toList();
    }

    @Override
    public void close() throws IOException {
        loader.close();
    }

    private boolean isThere(String named) {
        int dot = named.indexOf('.');
        try {
            Class<?> owner = Class.forName(named.substring(0, dot).replace('/', '.'), false, loader);
            return has(owner, named.substring(dot + 1));
        } catch (ClassNotFoundException older) {
            return false;
        }
    }

    private static boolean has(Class<?> type, String member) {
        return type != null
                && (visible(type).anyMatch(member::equals)
                        || has(type.getSuperclass(), member)
                        || Stream.of(type.getInterfaces()).anyMatch(parent -> has(parent, member)));
    }

    // Our classes may also use what is private to them.
    private static Stream<String> visible(Class<?> type) {
        Stream<Member> members = Stream.of(
                        type.getDeclaredFields(), type.getDeclaredMethods(), type.getDeclaredConstructors())
                .flatMap(Stream::of);
        return members.filter(member -> (member.getModifiers() & (Modifier.PUBLIC | Modifier.PROTECTED)) != 0
                        || type.getName().startsWith("dev.holdfast."))
                .map(OtherVersion::asJavapWritesIt);
    }

    private static String asJavapWritesIt(Member member) {
        if (member instanceof Field field) {
            return field.getName() + ":" + field.getType().descriptorString();
        }
        Executable code = (Executable) member;
        Class<?> result = code instanceof Method method ? method.getReturnType() : void.class;
        String name = code instanceof Method ? code.getName() : "\"<init>\"";
        return name + ":"
                + MethodType.methodType(result, code.getParameterTypes()).toMethodDescriptorString();
    }
}
