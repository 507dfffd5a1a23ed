package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.process.FaultProxy;
import dev.holdfast.testkit.process.FaultProxy.Fate;
import dev.holdfast.testkit.process.FaultProxy.Way;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Pattern;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A client vanishes with its network: its connections do not end, and nothing comes from it any more. */
class VanishedClientTest extends Servers {

    private static final List<LockName> NAMES =
            List.of(new LockName("a"), new LockName("b"), new LockName("c"), new LockName("d"));

    /** As a command, and not as a part of a setting's name. */
    private static final Pattern COMMIT =
            Pattern.compile("(?<![A-Za-z_])COMMIT(?![A-Za-z_])", Pattern.CASE_INSENSITIVE);

    /** The server ends its transaction. Without that, the rows would be locked for as long as the server believes in it. */
    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb", "mysql"})
    void namesOfItsTransactionAreFreeSoon(String product) throws Exception {
        String url = url(product);
        LockStore other = open(url);
        granted(other, bob.mutex(new LockName("another"))); // its driver is loaded
        FaultProxy proxy = closing(FaultProxy.before(url));
        // The driver of PostgreSQL names a connection's second commit by a number. The check for notifications would be
        // the first.
        String polls = product.equals("postgresql") ? "&holdfast.wakeup=poll" : "";
        LockStore vanishing = open(proxy.in(url) + polls);
        List<Claim> claims = NAMES.stream().map(alice::mutex).toList();
        proxy.judge((way, isFirst, message) -> {
            if (way == Way.TO_SERVER && isCommit(message)) {
                proxy.silence(Way.TO_SERVER);
            }
            return Fate.pass(message);
        });
        CompletableFuture<List<Attempt>> cut =
                CompletableFuture.supplyAsync(() -> get(vanishing.tryAcquireAll(claims)));
        awaitUntil(() -> proxy.isSilent(Way.TO_SERVER));
        Claim next = bob.mutex(NAMES.get(0));
        assertThat(get(other.tryAcquire(next))).isInstanceOf(Attempt.Busy.class);
        assertThat(holders(other, next.name())).isEmpty();
        awaitUntil(() -> get(other.tryAcquire(next.again())) instanceof Granted, "the server has not ended it");
        assertThat(cut).failsWithin(Duration.ofSeconds(30));
        proxy.close();
    }

    /** The check of an idle connection is part of the time that is promised. */
    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb", "mysql"})
    void callsEndInTheTimeThatTheStorePromises(String product) throws Exception {
        String url = url(product);
        FaultProxy proxy = closing(FaultProxy.before(url));
        LockStore store = repaired(() -> open(proxy.in(url) + "&holdfast.busyTimeout=1s"));
        repaired(() -> granted(store, alice.mutex(NAMES.get(0))));
        pause(1_000); // the pool checks connections that were idle for half a second
        proxy.silence(Way.TO_SERVER);
        long start = System.nanoTime();
        StoreException failure = failure(store.tryAcquire(alice.mutex(NAMES.get(1))));
        assertThat(failure.retryable()).isTrue();
        assertThat(Duration.ofNanos(System.nanoTime() - start))
                .isLessThan(store.traits().callTimeout());
        proxy.close();
    }

    private static boolean isCommit(byte[] message) {
        return COMMIT.matcher(new String(message, StandardCharsets.ISO_8859_1)).find();
    }
}
