package dev.holdfast.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Holdfast;
import dev.holdfast.spring.Locked;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.aot.generate.ClassNameGenerator;
import org.springframework.aot.generate.DefaultGenerationContext;
import org.springframework.aot.generate.FileSystemGeneratedFiles;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.test.util.TestPropertyValues;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.aot.ApplicationContextAotGenerator;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.javapoet.ClassName;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.UnifiedJedis;

/**
 * An application that was processed ahead of time, as for a native image. A native image itself is not built: the JVM runs the
 * generated code, and what an image must keep is looked for among the hints.
 */
class AheadOfTimeTest {

    @TempDir
    Path folder;

    private String initializer;

    @Test
    void anImageKeepsStoresScriptsAndAnnotations() {
        RuntimeHints hints = new RuntimeHints();
        new HoldfastRuntimeHints().registerHints(hints, getClass().getClassLoader());
        assertThat(RuntimeHintsPredicates.proxies().forInterfaces(Locked.class)).accepts(hints);
        assertThat(RuntimeHintsPredicates.resource().forResource("dev/holdfast/redis/script/record.lua"))
                .accepts(hints);
        assertThat(RuntimeHintsPredicates.resource()
                        .forResource("META-INF/services/dev.holdfast.spi.LockStoreProvider"))
                .accepts(hints);
        for (String provider : List.of(
                "dev.holdfast.memory.MemoryLockStoreProvider",
                "dev.holdfast.jdbc.JdbcLockStoreProvider",
                "dev.holdfast.jdbc.SqliteLockStoreProvider",
                "dev.holdfast.redis.RedisLockStoreProvider",
                "dev.holdfast.redis.lettuce.LettuceLockStoreProvider")) {
            assertThat(RuntimeHintsPredicates.reflection().onConstructorInvocation(constructorOf(provider)))
                    .as(provider)
                    .accepts(hints);
        }
    }

    private static Constructor<?> constructorOf(String provider) {
        try {
            return Class.forName(provider).getConstructor();
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    /** Each name that the hints have as a text is one that exists: a typing mistake would be found in an image only. */
    @Test
    void whatIsKeptExists() throws Exception {
        RuntimeHints hints = new RuntimeHints();
        new HoldfastRuntimeHints().registerHints(hints, getClass().getClassLoader());
        assertThat(RuntimeHintsPredicates.reflection().onType(RedisClient.class))
                .accepts(hints);
        assertThat(RuntimeHintsPredicates.reflection().onType(Class.forName("io.lettuce.core.StreamDeletionPolicy")))
                .accepts(hints);
        assertThat(RuntimeHintsPredicates.reflection().onFieldAccess(UnifiedJedis.class.getDeclaredField("provider")))
                .accepts(hints);
        Class<?> root = Class.forName("dev.holdfast.spring.locked.LockNames$Root");
        assertThat(RuntimeHintsPredicates.reflection().onMethodInvocation(root.getDeclaredMethod("target")))
                .accepts(hints);
    }

    @Test
    void theProcessedApplicationKeepsItsLockedMethodsAndLocks() throws Exception {
        RuntimeHints hints = generate();
        assertThat(RuntimeHintsPredicates.reflection()
                        .onMethodInvocation(Shop.class.getMethod("pay", long.class, Holdfast.class)))
                .accepts(hints);
        compile();
        // A loader of its own for all classes, so that the generated ones are in one with those whose packages they are
        // in.
        try (URLClassLoader loader = new URLClassLoader(classPath(), ClassLoader.getPlatformClassLoader())) {
            Object answer = with(
                    loader,
                    () -> loader.loadClass(Started.class.getName())
                            .getMethod("answer", String.class)
                            .invoke(null, initializer));
            assertThat(answer).isEqualTo("order:42 is locked");
        }
    }

    private RuntimeHints generate() {
        DefaultGenerationContext generation = new DefaultGenerationContext(
                new ClassNameGenerator(ClassName.get(Application.class)), new FileSystemGeneratedFiles(folder));
        try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
            TestPropertyValues.of("holdfast.url=memory:", "holdfast.election.name=billing")
                    .applyTo(context);
            context.register(Application.class);
            ClassName name = new ApplicationContextAotGenerator().processAheadOfTime(context, generation);
            initializer = name.canonicalName();
        }
        generation.writeGeneratedContent();
        return generation.getRuntimeHints();
    }

    private void compile() throws IOException {
        List<String> arguments = new ArrayList<>(List.of(
                "-proc:none",
                "-nowarn",
                "-d",
                classes().toString(),
                "-cp",
                System.getProperty("java.class.path") + File.pathSeparator + classes()));
        try (Stream<Path> files = Files.walk(folder.resolve("sources"))) {
            files.filter(file -> file.toString().endsWith(".java"))
                    .map(Path::toString)
                    .forEach(arguments::add);
        }
        int code = ToolProvider.getSystemJavaCompiler().run(null, null, null, arguments.toArray(String[]::new));
        assertThat(code).as("the compiler's answer").isZero();
    }

    private Path classes() throws IOException {
        return Files.createDirectories(folder.resolve("classes"));
    }

    private URL[] classPath() throws IOException {
        List<URL> urls = new ArrayList<>();
        urls.add(classes().toUri().toURL());
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            urls.add(Path.of(entry).toUri().toURL());
        }
        return urls.toArray(URL[]::new);
    }

    private interface Call {
        Object run() throws Exception;
    }

    private static Object with(ClassLoader loader, Call call) throws Exception {
        ClassLoader before = Thread.currentThread().getContextClassLoader();
        Thread.currentThread().setContextClassLoader(loader);
        try {
            return call.run();
        } finally {
            Thread.currentThread().setContextClassLoader(before);
        }
    }

    /** Runs in the other loader. */
    public static final class Started {

        private Started() {}

        /** Starts the application by its generated code, and runs a locked method. */
        @SuppressWarnings("unchecked")
        public static String answer(String initializer) throws Exception {
            try (GenericApplicationContext context = new GenericApplicationContext()) {
                TestPropertyValues.of("holdfast.url=memory:", "holdfast.election.name=billing")
                        .applyTo(context);
                ((ApplicationContextInitializer<GenericApplicationContext>) Class.forName(
                                        initializer,
                                        true,
                                        Thread.currentThread().getContextClassLoader())
                                .getConstructor()
                                .newInstance())
                        .initialize(context);
                context.refresh();
                return context.getBean(Shop.class).pay(42, context.getBean(Holdfast.class));
            }
        }
    }

    @Configuration(proxyBeanMethods = false)
    @ImportAutoConfiguration({
        HoldfastAutoConfiguration.class,
        LockedAutoConfiguration.class,
        ElectionAutoConfiguration.class
    })
    static class Application {

        @Bean
        Shop shop() {
            return new Shop();
        }
    }

    /** A bean with a locked method. */
    public static class Shop {

        @Locked("order:#{#id}")
        public String pay(long id, Holdfast locks) {
            return "order:" + id + (locks.lock("order:" + id).isLocked() ? " is locked" : " is not locked");
        }
    }
}
