package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.StoreException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A client vanishes with its network: its connections do not end, and nothing comes from it any more. */
class VanishedClientTest extends Servers {

    private static final List<LockName> NAMES =
            List.of(new LockName("a"), new LockName("b"), new LockName("c"), new LockName("d"));

    /** The server ends its transaction. Without that, the rows would be locked for as long as the server believes in it. */
    @ParameterizedTest
    @ValueSource(strings = {"postgresql", "mariadb", "mysql"})
    void namesOfItsTransactionAreFreeSoon(String product) throws Exception {
        String url = url(product);
        LockStore other = open(url);
        granted(other, bob.mutex(new LockName("another"))); // its driver is loaded
        CuttingProxy proxy = proxy(url);
        // The driver of PostgreSQL names a connection's second commit by a number. The check for notifications would be
        // the first.
        String polls = product.equals("postgresql") ? "&holdfast.wakeup=poll" : "";
        LockStore vanishing = open(through(proxy, url) + polls);
        List<Claim> claims = NAMES.stream().map(alice::mutex).toList();
        proxy.silenceAtCommit();
        CompletableFuture<List<Attempt>> cut =
                CompletableFuture.supplyAsync(() -> get(vanishing.tryAcquireAll(claims)));
        awaitUntil(proxy::hasCut);
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
        CuttingProxy proxy = proxy(url);
        LockStore store = open(through(proxy, url) + "&holdfast.busyTimeout=1s");
        granted(store, alice.mutex(NAMES.get(0)));
        pause(1_000); // the pool checks connections that were idle for half a second
        proxy.silenceAfter(0);
        long start = System.nanoTime();
        StoreException failure = failure(store.tryAcquire(alice.mutex(NAMES.get(1))));
        assertThat(failure.retryable()).isTrue();
        assertThat(Duration.ofNanos(System.nanoTime() - start))
                .isLessThan(store.traits().callTimeout());
        proxy.close();
    }

    private CuttingProxy proxy(String url) {
        return closing(new CuttingProxy(Integer.parseInt(url.replaceAll(".*127.0.0.1:(\\d+)/.*", "$1"))));
    }

    private static String through(CuttingProxy proxy, String url) {
        return url.replaceAll("127.0.0.1:\\d+/", "127.0.0.1:" + proxy.port() + "/");
    }
}
