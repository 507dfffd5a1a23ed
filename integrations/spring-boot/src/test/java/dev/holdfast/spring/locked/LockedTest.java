package dev.holdfast.spring.locked;

import static dev.holdfast.testkit.StoreTest.awaitUntil;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockException;
import dev.holdfast.LockLostException;
import dev.holdfast.LockOptions;
import dev.holdfast.LockTimeoutException;
import dev.holdfast.LossReason;
import dev.holdfast.spring.Locked;
import dev.holdfast.spring.Locked.IfBusy;
import dev.holdfast.spring.boot.HoldfastAutoConfiguration;
import dev.holdfast.spring.boot.LockedAutoConfiguration;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.core.annotation.AliasFor;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** What a call of a locked method does, with locks in memory. */
class LockedTest {

    private ConfigurableApplicationContext application;
    private Shop shop;
    private Holdfast locks;
    private Book book;

    @BeforeEach
    void start() {
        application = new SpringApplicationBuilder(Application.class)
                .web(WebApplicationType.NONE)
                .properties(
                        "holdfast.url=memory:",
                        "holdfast.locked.max-wait=50ms",
                        "where=shop",
                        "spring.main.banner-mode=off")
                .run();
        shop = application.getBean(Shop.class);
        locks = application.getBean(Holdfast.class);
        book = application.getBean(Book.class);
    }

    @AfterEach
    void stop() {
        application.close();
    }

    @Test
    void theNameIsComputedFromArguments() {
        assertThat(shop.pay(42)).isTrue();
        assertThat(locks.lock("order:42").isLocked()).isFalse();
        assertThat(shop.named("a")).containsExactly("shop:a");
        assertThat(shop.ofBean("a")).containsExactly("bean:a");
        assertThat(shop.ofItem(new Item("x", Currency.EURO))).containsExactly("x/EURO");
    }

    @Test
    void severalNamesAreHeldTogether() {
        assertThat(shop.move("b", "a")).containsExactly("account:a", "account:b");
        assertThat(shop.moveAll(List.of("c", "b", "c"))).containsExactly("account:b", "account:c");
        try (Lease one = elsewhere("account:b")) {
            assertThatThrownBy(() -> shop.move("b", "a")).isInstanceOf(LockTimeoutException.class);
            // The call waits a tenth of a second for that at most.
            awaitUntil(() -> !locks.lock("account:a").isLocked());
        }
    }

    @Test
    void aValueThatIsMissingIsAnErrorAndNoName() {
        assertThatThrownBy(() -> shop.named(null))
                .isInstanceOf(LockException.class)
                .hasMessageContaining("Shop.named(String)")
                .hasMessageContaining("#{#id} is null")
                .hasMessageContaining("Nothing was run");
        assertThatThrownBy(() -> shop.named(" ")).hasMessageContaining("blank");
        assertThatThrownBy(() -> shop.moveAll(List.of())).hasMessageContaining("empty collection");
        assertThatThrownBy(() -> shop.moveAll(Arrays.asList("a", null))).hasMessageContaining("is null");
        assertThatThrownBy(() -> shop.ofItem(null))
                .isInstanceOf(LockException.class)
                .hasMessageContaining("cannot be computed");
        assertThatThrownBy(() -> shop.ofAny(new Object() {})).hasMessageContaining("no text of its own");
        assertThatThrownBy(() -> shop.ofAny(Optional.empty())).hasMessageContaining("is empty");
        assertThat(book.calls).isZero();
    }

    @Test
    void aBusyLockFailsTheCallInTime() {
        try (Lease other = elsewhere("order:42")) {
            assertThatThrownBy(() -> shop.pay(42))
                    .isInstanceOf(LockTimeoutException.class)
                    .hasMessageContaining("\"order:42\"")
                    .hasMessageContaining("Shop.pay(long)");
            assertThat(shop.pay(43)).isTrue();
        }
        assertThat(book.calls).isEqualTo(1);
    }

    @Test
    void aBusyLockSkipsTheCall() {
        try (Lease other = elsewhere("job")) {
            shop.job();
            assertThat(shop.optionalJob()).isEmpty();
            assertThat(shop.futureJob().join()).isNull();
            assertThat(shop.monoJob().blockOptional()).isEmpty();
            assertThat(book.calls).isZero();
        }
        shop.job();
        assertThat(shop.optionalJob()).contains("done");
        assertThat(shop.monoJob().block()).isEqualTo("done");
        assertThat(book.calls).isEqualTo(3);
    }

    @Test
    void aThreadReentersThroughMethodsAndLocks() {
        book.inside = () -> {
            assertThat(shop.pay(42)).isTrue();
            DistributedLock lock = locks.lock("order:42");
            lock.lock();
            assertThat(lock.holdCount()).isEqualTo(2);
            lock.unlock();
        };
        assertThat(shop.payWith(42)).isTrue();
        assertThat(locks.lock("order:42").isLocked()).isFalse();
    }

    @Test
    void aCallInsideJoinsALease() {
        book.inside = () -> {
            assertThat(shop.pay(42)).isTrue();
            assertThat(shop.leased(42, null)).isEqualTo(book.lease.token());
            assertThatThrownBy(() -> shop.slowly(42))
                    .isInstanceOf(LockException.class)
                    .hasMessageContaining("wait for itself");
        };
        long token = shop.leased(42, null);
        assertThat(book.lease.names()).containsExactly("order:42");
        assertThat(token).isPositive();
        assertThat(book.lease.isValid()).isFalse();
    }

    @Test
    void readersShareAndWritersDoNot() throws Exception {
        CompletableFuture<String> second = new CompletableFuture<>();
        book.inside = () -> {
            book.inside = () -> {};
            second.complete(onAnotherThread(() -> shop.read("t")));
            assertThatThrownBy(() -> onAnotherThread(() -> shop.write("t")))
                    .hasRootCauseInstanceOf(LockTimeoutException.class);
        };
        assertThat(shop.read("t")).isEqualTo("read");
        assertThat(second).isCompletedWithValue("read");
        assertThat(shop.write("t")).isEqualTo("written");
    }

    @Test
    void noMoreThanTheLimitRunAtOnce() {
        book.inside = () -> {
            book.inside = () -> assertThatThrownBy(() -> onAnotherThread(() -> shop.limited()))
                    .hasRootCauseInstanceOf(LockTimeoutException.class);
            assertThat(onAnotherThread(() -> shop.limited())).isEqualTo("limited");
        };
        assertThat(shop.limited()).isEqualTo("limited");
        assertThat(book.calls).isEqualTo(2);
    }

    @Test
    void aLossEndsTheCall() {
        book.inside = () -> locks.lock("order:42").forceRelease();
        assertThatThrownBy(() -> shop.payWith(42))
                .isInstanceOfSatisfying(
                        LockLostException.class,
                        lost -> assertThat(lost.reason()).isEqualTo(LossReason.BROKEN));
        book.inside = () -> {
            locks.lock("order:42").forceRelease();
            throw new IllegalStateException("out of stock");
        };
        assertThatThrownBy(() -> shop.payWith(42))
                .isInstanceOf(LockLostException.class)
                .satisfies(lost ->
                        assertThat(lost.getSuppressed()).singleElement().isInstanceOf(IllegalStateException.class));
        assertThatThrownBy(() -> shop.leased(42, null)).isInstanceOf(LockLostException.class);
        book.inside = () -> {
            throw new IllegalStateException("out of stock");
        };
        assertThatThrownBy(() -> shop.payWith(42)).isInstanceOf(IllegalStateException.class);
        assertThat(locks.lock("order:42").isLocked()).isFalse();
    }

    @Test
    void aLossInterruptsAMethodThatAsksForIt() {
        book.inside = () -> locks.lock("slow").forceRelease();
        assertThatThrownBy(() -> shop.interruptible()).isInstanceOf(LockLostException.class);
        assertThat(book.interrupted).isTrue();
        assertThat(Thread.interrupted()).isFalse();
    }

    @Test
    void maxHoldTakesTheLockAway() {
        assertThatThrownBy(() -> shop.tooLong())
                .isInstanceOfSatisfying(
                        LockLostException.class,
                        lost -> assertThat(lost.reason()).isEqualTo(LossReason.EXPIRED));
    }

    @Test
    void lockAtLeastKeepsTheLockAfterAShortJob() throws InterruptedException {
        shop.nightly();
        assertThat(locks.lock("nightly").isLocked()).isTrue();
        shop.nightly();
        assertThat(book.calls).isEqualTo(1);
        shop.hourly();
        try (Lease next = locks.lock("hourly").acquire(Duration.ofSeconds(20))) {
            assertThat(next.isValid()).isTrue();
        }
    }

    @Test
    void aFutureHoldsTheLockUntilItIsComplete() {
        CompletableFuture<String> result = shop.slowly(42);
        assertThat(locks.lock("order:42").isLocked()).isTrue();
        assertThatThrownBy(() -> shop.pay(42)).isInstanceOf(LockTimeoutException.class);
        book.work.complete("paid");
        assertThat(result.join()).isEqualTo("paid");
        assertThat(shop.pay(42)).isTrue();
    }

    @Test
    void aFutureThatFailsOrIsCancelledGivesTheLockBack() throws Exception {
        CompletableFuture<String> failed = shop.slowly(42);
        book.work.completeExceptionally(new IllegalStateException("no money"));
        assertThatThrownBy(failed::join).hasRootCauseInstanceOf(IllegalStateException.class);
        CompletableFuture<String> cancelled = shop.slowly(42);
        cancelled.cancel(true);
        assertThat(book.work).isCancelled();
        // The lock goes back without the caller, who does not wait for it.
        try (Lease next = locks.lock("order:42").acquire(Duration.ofSeconds(10))) {
            assertThat(next.isValid()).isTrue();
        }
    }

    @Test
    void aFutureFailsWhenItsLockIsLost() {
        CompletableFuture<String> result = shop.slowly(42);
        locks.lock("order:42").forceRelease();
        assertThatThrownBy(() -> result.get(10, TimeUnit.SECONDS)).hasCauseInstanceOf(LockLostException.class);
        // The result fails first, so that its cause is the loss; then the work is cancelled.
        assertThatThrownBy(() -> book.work.get(10, TimeUnit.SECONDS)).isInstanceOf(CancellationException.class);
    }

    @Test
    void aMonoTakesTheLockWithEachSubscription() {
        Mono<String> lazy = shop.later(42);
        assertThat(book.calls).isZero();
        assertThat(locks.lock("order:42").isLocked()).isFalse();
        assertThat(lazy.block()).isEqualTo("later 42 true");
        assertThat(lazy.block()).isEqualTo("later 42 true");
        assertThat(book.calls).isEqualTo(2);
        assertThat(locks.lock("order:42").isLocked()).isFalse();
        try (Lease other = elsewhere("order:42")) {
            assertThatThrownBy(lazy::block).isInstanceOf(LockTimeoutException.class);
        }
    }

    @Test
    void aMonoIsCancelledWhenItsLockIsLost() throws Exception {
        book.inside = () -> locks.lock("order:42").forceRelease();
        assertThatThrownBy(() -> shop.never(42).block(Duration.ofSeconds(10))).isInstanceOf(LockLostException.class);
        assertThat(book.cancelled.await(10, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void aFluxIsCancelledWhenItsLockIsLost() throws Exception {
        book.inside = () -> locks.lock("order:42").forceRelease();
        assertThatThrownBy(() -> shop.neverSeveral(42).blockLast(Duration.ofSeconds(10)))
                .isInstanceOf(LockLostException.class);
        assertThat(book.cancelled.await(10, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void anAsynchronousResultAfterALossIsTheLoss() {
        book.inside = () -> locks.lock("order:42").forceRelease();
        assertThatThrownBy(() -> shop.laterWith(42, null).block()).isInstanceOf(LockLostException.class);
        assertThatThrownBy(() -> shop.laterWith(42, new IllegalStateException("no money"))
                        .block())
                .isInstanceOf(LockLostException.class);
        book.inside = () -> {};
        assertThatThrownBy(() -> shop.laterWith(42, new IllegalStateException("no money"))
                        .block())
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("no money");
    }

    @Test
    void aSubscriptionThatIsCancelledGivesTheLockBack() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        book.inside = begun::countDown;
        var subscription = shop.never(42).subscribe();
        assertThat(begun.await(10, TimeUnit.SECONDS)).isTrue();
        subscription.dispose();
        assertThat(book.cancelled.await(10, TimeUnit.SECONDS)).isTrue();
        try (Lease next = locks.lock("order:42").acquire(Duration.ofSeconds(10))) {
            assertThat(next.isValid()).isTrue();
        }
    }

    @Test
    void aFluxHoldsTheLockUntilItIsComplete() {
        assertThat(shop.several(42).collectList().block()).containsExactly(true, true);
        assertThat(locks.lock("order:42").isLocked()).isFalse();
    }

    @Test
    void annotationsOfOnesOwnAndOfInterfacesCount() {
        assertThat(shop.composed("a")).containsExactly("own:a");
        assertThat(((Payments) shop).refund("a")).containsExactly("refund:a");
    }

    private Lease elsewhere(String name) {
        return locks.lock(name, LockOptions.defaults()).tryAcquire().orElseThrow();
    }

    private static <T> T onAnotherThread(java.util.function.Supplier<T> task) {
        return CompletableFuture.supplyAsync(task).join();
    }

    @Configuration(proxyBeanMethods = false)
    @ImportAutoConfiguration({AopAutoConfiguration.class, HoldfastAutoConfiguration.class, LockedAutoConfiguration.class
    })
    @Import({Shop.class, Prefix.class, Book.class})
    static class Application {}

    enum Currency {
        EURO
    }

    record Item(String id, Currency currency) {}

    interface Payments {

        @Locked("refund:#{#p0}")
        List<String> refund(String id);
    }

    static class Prefix {

        public String of(String id) {
            return "bean:" + id;
        }
    }

    @Locked("own:#{#id}")
    @Retention(RetentionPolicy.RUNTIME)
    @Target(ElementType.METHOD)
    @interface OwnLock {

        @AliasFor(annotation = Locked.class, attribute = "maxWait")
        String patience() default "1s";
    }

    /** What the shop does and has done. The shop itself is behind a proxy. */
    static class Book {
        Runnable inside = () -> {};
        int calls;
        boolean interrupted;
        Lease lease;
        CompletableFuture<String> work;
        final CountDownLatch cancelled = new CountDownLatch(1);
    }

    static class Shop implements Payments {

        @Autowired
        private Holdfast locks;

        @Autowired
        private Book book;

        @Locked("order:#{#id}")
        public boolean pay(long id) {
            book.calls++;
            return locks.lock("order:" + id).isLocked();
        }

        @Locked("order:#{#id}")
        public boolean payWith(long id) {
            book.inside.run();
            return true;
        }

        @Locked("${where}:#{#id}")
        public List<String> named(String id) {
            return held();
        }

        @Locked("#{@'dev.holdfast.spring.locked.LockedTest$Prefix'.of(#id)}")
        public List<String> ofBean(String id) {
            return held();
        }

        @Locked("#{#item.id}/#{#item.currency}")
        public List<String> ofItem(Item item) {
            return held();
        }

        @Locked("any:#{#any}")
        public void ofAny(Object any) {
            book.calls++;
        }

        @Locked(name = {"account:#{#from}", "account:#{#to}"})
        public List<String> move(String from, String to) {
            return held();
        }

        @Locked(name = "account:#{#accounts}")
        public List<String> moveAll(List<String> accounts) {
            return held();
        }

        @Locked(name = "job", ifBusy = IfBusy.SKIP)
        public void job() {
            book.calls++;
        }

        @Locked(name = "job", ifBusy = IfBusy.SKIP)
        public Optional<String> optionalJob() {
            book.calls++;
            return Optional.of("done");
        }

        @Locked(name = "job", ifBusy = IfBusy.SKIP)
        public CompletableFuture<Void> futureJob() {
            book.calls++;
            return CompletableFuture.completedFuture(null);
        }

        @Locked(name = "job", ifBusy = IfBusy.SKIP)
        public Mono<String> monoJob() {
            book.calls++;
            return Mono.just("done");
        }

        @Locked("order:#{#id}")
        public long leased(long id, Lease given) {
            book.lease = given;
            Runnable once = book.inside;
            book.inside = () -> {};
            once.run();
            return given.token();
        }

        @Locked(name = "table:#{#id}", read = true)
        public String read(String id) {
            book.inside.run();
            return "read";
        }

        @Locked(name = "table:#{#id}", write = true)
        public String write(String id) {
            return "written";
        }

        @Locked(name = "rate", permits = 1, of = 2)
        public String limited() {
            book.calls++;
            book.inside.run();
            return "limited";
        }

        @Locked(name = "slow", interruptOnLoss = true)
        public void interruptible() {
            book.inside.run();
            try {
                new CountDownLatch(1).await(10, TimeUnit.SECONDS);
            } catch (InterruptedException e) {
                book.interrupted = true;
            }
        }

        @Locked(name = "long", maxHold = "150ms", interruptOnLoss = true)
        public void tooLong() throws InterruptedException {
            new CountDownLatch(1).await(10, TimeUnit.SECONDS);
        }

        @Locked(name = "nightly", ifBusy = IfBusy.SKIP, lockAtLeast = "1h")
        public void nightly() {
            book.calls++;
        }

        @Locked(name = "hourly", lockAtLeast = "500ms")
        public void hourly() {}

        @Locked("order:#{#id}")
        public CompletableFuture<String> slowly(long id) {
            book.work = new CompletableFuture<>();
            return book.work;
        }

        @Locked("order:#{#id}")
        public Mono<String> later(long id) {
            book.calls++;
            return Mono.fromSupplier(
                    () -> "later " + id + " " + locks.lock("order:" + id).isLocked());
        }

        @Locked("order:#{#id}")
        public Mono<String> never(long id) {
            return Mono.<String>never()
                    .doOnSubscribe(begun -> book.inside.run())
                    .doOnCancel(book.cancelled::countDown);
        }

        @Locked("order:#{#id}")
        public Mono<String> laterWith(long id, RuntimeException failure) {
            return Mono.fromSupplier(() -> {
                book.inside.run();
                if (failure != null) {
                    throw failure;
                }
                return "later";
            });
        }

        @Locked("order:#{#id}")
        public Flux<String> neverSeveral(long id) {
            return Flux.<String>never()
                    .doOnSubscribe(begun -> book.inside.run())
                    .doOnCancel(book.cancelled::countDown);
        }

        @Locked("order:#{#id}")
        public Flux<Boolean> several(long id) {
            return Flux.range(0, 2).map(i -> locks.lock("order:" + id).isLocked());
        }

        @OwnLock
        public List<String> composed(String id) {
            return held();
        }

        @Override
        public List<String> refund(String id) {
            return held();
        }

        private List<String> held() {
            book.calls++;
            return locks.list("", 10);
        }
    }

    @Test
    void oneMethodIsReadOnce() throws Exception {
        LockedMethods methods = new LockedMethods(
                new DefaultListableBeanFactory(),
                () -> new LockedMethods.Defaults(LockOptions.defaults(), Duration.ofSeconds(1)));
        var method = Shop.class.getMethod("job");
        assertThat(methods.find(method, Shop.class))
                .isSameAs(methods.find(method, Shop.class))
                .isNotNull();
        assertThat(methods.find(Object.class.getMethod("hashCode"), Shop.class)).isNull();
    }

    /** The client gives a lease that is not renewed back a hundredth before its end, which must not be before lockAtLeast. */
    @Test
    void aLeaseThatIsNotRenewedLastsForLockAtLeast() throws Exception {
        LockedMethods methods = new LockedMethods(
                new DefaultListableBeanFactory(),
                () -> new LockedMethods.Defaults(
                        LockOptions.defaults().withFixedLease(Duration.ofSeconds(30)), Duration.ofSeconds(1)));
        LockedMethod nightly = methods.find(Shop.class.getMethod("nightly"), Shop.class);
        assertThat(nightly).isNotNull();
        Duration lease = nightly.options().lease();
        assertThat(lease.minus(lease.dividedBy(100)).minusMillis(2)).isGreaterThanOrEqualTo(Duration.ofHours(1));
    }
}
