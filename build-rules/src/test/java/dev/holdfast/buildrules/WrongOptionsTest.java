package dev.holdfast.buildrules;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.store.Providers;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.lifecycle.AfterContainer;
import net.jqwik.api.lifecycle.BeforeContainer;

/**
 * An option of a URL that is unknown, doubled, empty, malformed or out of its range is refused by name, before anything is sent to a
 * server. The URLs and the options are those of {@link StoreUrls}, so that a new one is tried, too.
 */
class WrongOptionsTest {

    private static final Set<String> TIMES = Set.of(
            "keep",
            "busyTimeout",
            "ticketTtl",
            "timeout",
            "session",
            "sessionTimeout",
            "replicaTimeout",
            "maxLease",
            "nodeTimeout",
            "deadAfter");

    private static final Set<String> NUMBERS_AND_CHOICES = Set.of(
            "connections",
            "replicas",
            "cluster",
            "layout",
            "stamp",
            "newNodes",
            "login",
            "acl",
            "tls",
            "schema",
            "wakeup",
            "durability",
            "serverPrepare");

    /** Any text may be right for these, as far as the form of the URL goes. */
    private static final Set<String> TEXTS = Set.of(
            "prefix",
            "sentinelUser",
            "sentinelPassword",
            "ca",
            "cert",
            "key",
            "boot",
            "table",
            "clock",
            "theirTable",
            "nameColumn",
            "flagColumn",
            "free",
            "held",
            "ownerColumn",
            "timeColumn",
            "timeZone",
            "trustStore",
            "trustStorePassword",
            "keyStore",
            "keyStorePassword",
            "sasl",
            "root");

    private static final Map<String, List<String>> OPTIONS = StoreUrls.all().stream()
            .filter(StoreUrls::mayBeTaken)
            .collect(Collectors.toMap(Function.identity(), StoreUrls::options));

    /** Accepts without waiting. */
    private static ServerSocketChannel server;

    @BeforeContainer
    static void listen() throws IOException {
        server = ServerSocketChannel.open().bind(new InetSocketAddress(0));
        server.configureBlocking(false);
    }

    @AfterContainer
    static void listenNoMore() throws IOException {
        server.close();
    }

    @Example
    void everyOptionIsOfAKindThatIsTried() {
        OPTIONS.values().stream()
                .flatMap(List::stream)
                .forEach(option -> assertThat(TIMES.contains(option)
                                || NUMBERS_AND_CHOICES.contains(option)
                                || TEXTS.contains(option))
                        .as(option)
                        .isTrue());
    }

    /** A time that is none, or that no option allows. */
    @Provide
    Arbitrary<String> wrongTimes() {
        return Arbitraries.oneOf(
                Arbitraries.of(
                        "", "0", "5", "-5s", "5%20s", "5sec", "1e3s", "PT", "P", "-PT5S", "PT0S", "0s", "0ms", "NaN"),
                Arbitraries.of("99999999999h", "999999999d", "PT2562047788015215H", "P106751991167300D", "\u0665s"),
                Arbitraries.longs().greaterOrEqual(1_000_000_000L).map(number -> number + "d"),
                Arbitraries.longs().lessOrEqual(0).map(number -> number + "ms"),
                Arbitraries.strings().withChars("xyz_!").ofMinLength(1).ofMaxLength(20));
    }

    /** What is neither a number in its range nor one of the words of any option. */
    @Provide
    Arbitrary<String> wrongWords() {
        return Arbitraries.oneOf(
                Arbitraries.of("", "-1", "1.5", "TRUE", "yes", "1e3", "0x10", "on%20", "null", "99999999999999999999"),
                Arbitraries.integers().greaterOrEqual(100_000).map(String::valueOf),
                Arbitraries.strings().withChars("xyz_!").ofMinLength(1).ofMaxLength(20));
    }

    @Property(tries = 100)
    void wrongTimesAreRefusedByName(@ForAll("urls") String url, @ForAll("wrongTimes") String value) {
        for (String option : OPTIONS.get(url)) {
            if (TIMES.contains(option) && !url.contains(option + "=")) {
                refuses(StoreUrls.with(url, option + "=" + value), shown(url, option, option, value));
            }
        }
    }

    @Property(tries = 100)
    void wrongNumbersAndChoicesAreRefusedByName(@ForAll("urls") String url, @ForAll("wrongWords") String value) {
        for (String option : OPTIONS.get(url)) {
            if (NUMBERS_AND_CHOICES.contains(option) && !url.contains(option + "=")) {
                refuses(StoreUrls.with(url, option + "=" + value), shown(url, option, option, value));
            }
        }
    }

    @Property(tries = 100)
    void doubledOptionsAreRefusedByName(@ForAll("urls") String url, @ForAll int which) {
        List<String> options = OPTIONS.get(url);
        String option = options.get(Math.floorMod(which, options.size()));
        String doubled = StoreUrls.with(StoreUrls.with(url, option + "=1m"), option + "=1m");
        // The name is not shown where it may be a part of a password.
        refuses(doubled, doubled.toLowerCase(Locale.ROOT).contains("password") ? "" : option);
    }

    @Property(tries = 100)
    void unknownOptionsAreRefusedWithThoseThatThereAre(
            @ForAll("urls") String url, @ForAll("names") String name, @ForAll("wrongWords") String value) {
        List<String> options = OPTIONS.get(url);
        if (!options.contains(name)) {
            refuses(StoreUrls.with(url, name + "=" + value), shown(url, options.get(0), name, value));
        }
    }

    @Provide
    Arbitrary<String> urls() {
        return Arbitraries.of(OPTIONS.keySet().stream().sorted().toList());
    }

    /** Names that are nearly right, among others. */
    @Provide
    Arbitrary<String> names() {
        Arbitrary<String> known = Arbitraries.of(OPTIONS.values().stream()
                .flatMap(List::stream)
                .distinct()
                .sorted()
                .toList());
        return Arbitraries.oneOf(
                Combinators.combine(known, Arbitraries.of("s", "_", "X")).as((name, more) -> name + more),
                known.map(name -> name.toUpperCase(Locale.ROOT)),
                Arbitraries.strings().alpha().ofMinLength(1).ofMaxLength(30));
    }

    // What does not look like an option of a quorum may be the end of a password, and is not shown.
    private static String shown(String url, String expected, String name, String value) {
        boolean looksLikeOne = name.matches("[A-Za-z]+") && value.matches("[A-Za-z0-9]+");
        return url.startsWith("quorum:") && !looksLikeOne ? "#OPTION=VALUE" : expected;
    }

    private static void refuses(String url, String inMessage) {
        String toServer = url.replaceAll(
                        "(127\\.0\\.0\\.\\d):1\\b", "$1:" + server.socket().getLocalPort())
                .replace(StoreUrls.PASSWORD, "secret");
        Throwable refused = catchThrowable(
                () -> Providers.open(toServer, MonotonicClock.SYSTEM).close());
        assertThat(refused).as(url).isInstanceOf(IllegalArgumentException.class).hasMessageContaining(inMessage);
        assertThat(wasAsked()).as("a server was asked for %s", url).isFalse();
    }

    private static boolean wasAsked() {
        try (SocketChannel connection = server.accept()) {
            return connection != null;
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }
}
