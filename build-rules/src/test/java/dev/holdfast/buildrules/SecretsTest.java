package dev.holdfast.buildrules;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Holdfast;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.LockStoreProvider;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.store.Providers;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.From;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.ShrinkingMode;
import net.jqwik.api.constraints.Size;
import net.jqwik.api.lifecycle.BeforeContainer;

/**
 * Whatever is wrong with the URL of a store, or with its server, no part of a password is in a message, a stack trace, a log, a
 * text of an object or the name of a thread, whether it is encoded or not. The URLs of {@link StoreUrls} meet every option of their
 * store, with passwords that may be taken for another part of a URL.
 */
class SecretsTest {

    private static final String SECRET = "hunter2";

    private static final int AT_ONCE = 16;

    /** No store accepts any of these for an option that is not a text. */
    private static final List<String> WRONG = List.of("", "never", "-1", "%zz", "1,000", "a b", "99999999999h");

    private static final Pattern RECORD_WITH_PASSWORD = Pattern.compile(
            "\\brecord \\w+\\([^{]*\\b(String (\\w*[pP]assword|\\w*[sS]ecret|login|\\w*[uU]rl|query|storeOptions)"
                    + "|List<String> nodes)\\b[^{]*\\{");

    private static final Map<String, List<String>> OPTIONS =
            StoreUrls.all().stream().collect(Collectors.toMap(url -> url, StoreUrls::options));

    @BeforeContainer
    static void recordTheLogs() {
        RecordedLogs.begin();
    }

    @Example
    void everySchemeIsTested() {
        List<String> missing = new ArrayList<>();
        ServiceLoader.load(LockStoreProvider.class).forEach(provider -> missing.addAll(StoreUrls.missing(provider)));
        assertThat(missing).as("schemes without a URL in StoreUrls").isEmpty();
        assertThat(StoreUrls.schemes("a[s][-b]+c://HOST"))
                .containsExactly("a+c://", "a-b+c://", "as+c://", "as-b+c://");
        assertThat(StoreUrls.schemes("a[s]|b://HOST")).containsExactly("a://", "as://", "b://");
        assertThat(StoreUrls.schemes("jdbc:{a,b}:...")).containsExactly("jdbc:a:", "jdbc:b:");
    }

    /** A store that does not name its options in the message about an unknown one would not be tested. */
    @Example
    void optionsAreKnown() {
        OPTIONS.forEach((url, options) -> {
            if (StoreUrls.mayBeTaken(url)) {
                assertThat(options).as(url).hasSizeGreaterThan(2).allMatch(option -> option.matches("[A-Za-z]+"));
            } else {
                assertThat(options).as(url).isEmpty();
            }
        });
    }

    /** The text that Java makes of a record shows all of its components. */
    @Example
    void recordsWithPasswordsHaveTextsOfTheirOwn() {
        List<Path> sources = SourceFiles.java(Path.of("..")).stream()
                .filter(file -> file.toString().contains("src/main/"))
                .toList();
        assertThat(sources).hasSizeGreaterThan(300);
        assertThat(sources.stream()
                        .filter(file -> showsAPassword(SourceFiles.code(file)))
                        .toList())
                .as("records with a password or a URL and without toString()")
                .isEmpty();
        assertThat(showsAPassword("record A(int a,\n @Nullable String password) {}"))
                .isTrue();
        assertThat(showsAPassword("record A(String storeUrl, int a) implements B { int b() {} }"))
                .isTrue();
        assertThat(showsAPassword("record A(String password) { public String toString() {} }"))
                .isFalse();
    }

    private static boolean showsAPassword(String code) {
        return RECORD_WITH_PASSWORD.matcher(code).find() && !code.contains("public String toString()");
    }

    @Provide
    Arbitrary<String> passwords() {
        Arbitrary<String> part = Arbitraries.oneOf(
                Arbitraries.strings().withChars("ab1:/?&#@%;=+, \n").ofMaxLength(6),
                Arbitraries.of("1/", "1?", "1?a=", "1?password=", "&a=", "@b/", "@b:1?c=", ",b:", "#a=", "/1", "&"),
                Arbitraries.of(
                        "&timeout=", "&keep=", "&prefix=", "&holdfast.keep=", "&holdfast.a=", ";USER=", "#maxLease="));
        Arbitrary<String> plain = Combinators.combine(part, part).as((before, after) -> before + SECRET + after);
        return Arbitraries.oneOf(plain, plain.map(SecretsTest::encoded));
    }

    @Provide
    Arbitrary<String> mistakenUrls() {
        return Combinators.combine(
                        Arbitraries.of(StoreUrls.all()), passwords(), Arbitraries.integers(), Arbitraries.of(WRONG))
                .as((url, password, mistake, value) ->
                        mistaken(url, mistake, value).replace(StoreUrls.PASSWORD, password))
                .filter(url -> !StoreUrls.namesAServer(url, SECRET));
    }

    /** Some at once, because most of the time goes by in waiting. */
    @Property(tries = 32, shrinking = ShrinkingMode.OFF)
    void passwordsAreNotShown(@ForAll @Size(AT_ONCE) List<@From("mistakenUrls") String> urls) {
        hide(urls);
    }

    /** Nothing is wrong with the URL, but no server is there. */
    @Example
    void passwordsAreNotShownIfThereIsNoServer() {
        hide(StoreUrls.all().stream()
                .flatMap(url -> Stream.of(SECRET, encoded("a:/?&#@%;=+, " + SECRET))
                        .map(password -> url.replace(StoreUrls.PASSWORD, password)))
                .toList());
    }

    private static void hide(List<String> urls) {
        ExecutorService threads = Executors.newFixedThreadPool(AT_ONCE);
        try {
            CompletableFuture.allOf(urls.stream()
                            .map(url -> CompletableFuture.runAsync(() -> hides(url), threads))
                            .toArray(CompletableFuture[]::new))
                    .join();
        } finally {
            threads.shutdown();
        }
    }

    // The mistakes are: one of the store's options, an unknown one, or one that is there twice; a port, a host, a path.
    private static String mistaken(String url, int mistake, String value) {
        List<String> options = OPTIONS.get(url);
        int kind = Math.floorMod(mistake, options.size() + 8);
        if (kind < options.size()) {
            return StoreUrls.with(url, options.get(kind) + "=" + value);
        }
        return switch (kind - options.size()) {
            case 0 -> StoreUrls.with(url, "nosuch=" + value);
            case 1 -> StoreUrls.with(url, "nosuch");
            case 2 -> StoreUrls.with(StoreUrls.with(url, "nosuch=1"), "nosuch=1");
            case 3 -> url.replaceFirst(":1\\b", ":99999");
            case 4 -> url.replaceFirst(":1\\b", ":" + value);
            case 5 -> url.replaceFirst("127\\.0\\.0\\.1", "");
            case 6 -> url.replaceFirst("(127\\.0\\.0\\.1:1)", "$1/a/b/c");
            default -> url.replaceFirst("//", "");
        };
    }

    private static String encoded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
    }

    private static void hides(String url) {
        List<String> seen = new ArrayList<>();
        try (Holdfast locks = Holdfast.connect(url);
                LockStore store = Providers.open(url, MonotonicClock.SYSTEM)) {
            seen.add(locks.toString());
            seen.add(store.toString());
            seen.add(String.valueOf(store.traits()));
            addThreads(seen);
        } catch (RuntimeException failure) {
            seen.add(trace(failure));
        }
        addThreads(seen);
        seen.addAll(RecordedLogs.taken());
        assertThat(seen).as(url).allSatisfy(text -> assertThat(text).doesNotContainIgnoringCase(SECRET));
    }

    private static void addThreads(List<String> seen) {
        Thread.getAllStackTraces().keySet().forEach(thread -> seen.add(thread.getName()));
    }

    /** The messages of a failure, of its causes and of what was suppressed. */
    static String trace(Throwable failure) {
        StringWriter trace = new StringWriter();
        failure.printStackTrace(new PrintWriter(trace));
        return trace.toString();
    }
}
