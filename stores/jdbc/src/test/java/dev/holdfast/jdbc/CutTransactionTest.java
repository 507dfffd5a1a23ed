package dev.holdfast.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.testkit.process.FaultProxy;
import dev.holdfast.testkit.process.FaultProxy.Way;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The connection breaks at many points of a transaction that takes several names: before the server committed, after it, and
 * between. At no time are some of the names held and others not, and what is repeated succeeds.
 */
class CutTransactionTest extends Servers {

    /** At how many points of the shortest such transaction the connection breaks, the same number of bytes apart. */
    private static final int CUTS = 12;

    /** More such steps than a transaction over a new connection has, whose statements go in full. */
    private static final int MOST = 20 * CUTS;

    /**
     * So many names are listed by one statement, which sees either none of a transaction or all of it. The server may commit
     * at any time after the cut, so that a statement for each name could see the first before the commit and the last after it.
     */
    private static final int ONE_STATEMENT = 100;

    @ParameterizedTest
    @CsvSource({"postgresql,TO_SERVER", "postgresql,TO_CLIENT", "mariadb,TO_SERVER", "mariadb,TO_CLIENT"})
    void severalNamesAreAllOrNoneAtEachCut(String product, Way cut) throws Exception {
        String url = url(product);
        FaultProxy proxy = closing(FaultProxy.before(url));
        LockStore store = open(proxy.in(url));
        LockStore direct = open(url);
        List<LockName> names = List.of(new LockName("a"), new LockName("b"), new LockName("c"));
        long bytes = Long.MAX_VALUE;
        for (int i = 0; i < 20; i++) {
            bytes = Math.min(bytes, bytesOfOne(store, names, proxy, cut));
        }
        int cuts = 0;
        int point = 0;
        boolean wholeTransactionPassed = false;
        for (int rounds = 0; !wholeTransactionPassed; rounds++) {
            assertThat(rounds).as("cuts of a transaction of %d bytes", bytes).isLessThan(MOST);
            long at = point * bytes / CUTS;
            List<Claim> claims = names.stream().map(alice::mutex).toList();
            // A call just before the cut, so that the pool does not check an idle connection first.
            get(store.inspect(names.get(0)));
            proxy.cutAfter(cut, at);
            try {
                get(store.tryAcquireAll(claims));
                // Or the cut has hit a connection that the pool was just opening as a replacement of the last one.
                wholeTransactionPassed = !proxy.hasCut();
                proxy.cutNothing();
                if (at >= bytes) {
                    // Or what the connection does after its commit, which it would do again.
                    point++;
                }
            } catch (StoreException failure) {
                cuts++;
                point++;
                assertThat(failure.effect()).isEqualTo(Effect.UNKNOWN);
                assertThat(failure.retryable()).isTrue();
                assertThat(get(direct.list("", ONE_STATEMENT)))
                        .as("held after the cut at byte %d", at)
                        .satisfiesAnyOf(
                                held -> assertThat(held).isEmpty(),
                                held -> assertThat(held).isEqualTo(names));
            }
            List<Claim> again = claims.stream().map(Claim::again).toList();
            // The server may not have noticed yet that the connection is gone, and keeps the rows until then.
            awaitUntil(() ->
                    repaired(() -> get(store.tryAcquireAll(again))).stream().allMatch(Granted.class::isInstance));
            assertThat(get(direct.renew(claims))).allMatch(Granted.class::isInstance);
            claims.forEach(claim -> get(direct.release(claim)));
            assertThat(get(direct.list("", 10))).isEmpty();
        }
        assertThat(cuts).as("cuts").isGreaterThanOrEqualTo(CUTS);
    }

    private long bytesOfOne(LockStore store, List<LockName> names, FaultProxy proxy, Way direction) {
        List<Claim> claims = names.stream().map(alice::mutex).toList();
        get(store.inspect(names.get(0)));
        long before = proxy.bytes(direction);
        get(store.tryAcquireAll(claims));
        long bytes = proxy.bytes(direction) - before;
        claims.forEach(claim -> get(store.release(claim)));
        return bytes;
    }
}
