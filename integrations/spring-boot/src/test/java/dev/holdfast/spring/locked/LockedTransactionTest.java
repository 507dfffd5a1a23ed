package dev.holdfast.spring.locked;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockException;
import dev.holdfast.LockLostException;
import dev.holdfast.LockObserver;
import dev.holdfast.spring.Locked;
import dev.holdfast.spring.boot.HoldfastBuilderCustomizer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.DefaultTransactionStatus;
import org.springframework.transaction.support.TransactionTemplate;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** A lock around a transaction, with the locks and the data in one H2 database. */
class LockedTransactionTest {

    private final ApplicationContextRunner runner = Contexts.inMemory()
            .withConfiguration(AutoConfigurations.of(
                    DataSourceAutoConfiguration.class,
                    JdbcTemplateAutoConfiguration.class,
                    TransactionAutoConfiguration.class))
            .withPropertyValues("holdfast.url=", "spring.datasource.url=jdbc:h2:mem:" + System.nanoTime())
            .withUserConfiguration(Application.class);

    @Test
    void theLockIsTakenBeforeTheTransactionAndReleasedAfterIt() {
        runner.run(context -> {
            context.getBean(Accounts.class).pay(5);
            assertThat(context.getBean(Diary.class).events)
                    .containsExactly("locked", "begun", "paid", "committed", "unlocked");
            assertThat(balance(context)).isEqualTo(5);
        });
    }

    @Test
    void aRollBackComesBeforeTheRelease() {
        runner.run(context -> {
            Accounts accounts = context.getBean(Accounts.class);
            context.getBean(Diary.class).after = () -> {
                throw new IllegalStateException("out of money");
            };
            assertThatThrownBy(() -> accounts.pay(5)).isInstanceOf(IllegalStateException.class);
            assertThat(context.getBean(Diary.class).events)
                    .containsExactly("locked", "begun", "paid", "rolled back", "unlocked");
            assertThat(balance(context)).isZero();
        });
    }

    @Test
    void theOrderIsAKeyAndTheLockOutlivesTheTransactionInAnyCase() {
        runner.withUserConfiguration(TransactionsFurtherOut.class)
                .withPropertyValues("holdfast.locked.order=6")
                .run(context -> {
                    context.getBean(Accounts.class).pay(5);
                    assertThat(context.getBean(Diary.class).events)
                            .containsExactly("begun", "locked", "paid", "committed", "unlocked");
                });
    }

    @Test
    void aLockThatIsTakenInATransactionIsHeldUntilItsEnd() {
        runner.run(context -> {
            Accounts accounts = context.getBean(Accounts.class);
            List<String> events = context.getBean(Diary.class).events;
            context.getBean(TransactionTemplate.class).executeWithoutResult(status -> {
                accounts.pay(2);
                accounts.pay(3);
                events.add("both");
            });
            assertThat(events.subList(events.indexOf("both"), events.size()))
                    .containsExactly("both", "committed", "unlocked");
            assertThat(context.getBean(Holdfast.class).lock("account").isLocked())
                    .isFalse();
            assertThat(balance(context)).isEqualTo(5);
        });
    }

    @Test
    void aTransactionDoesNotCommitAfterItsLockWasLost() {
        runner.run(context -> {
            Accounts accounts = context.getBean(Accounts.class);
            Holdfast locks = context.getBean(Holdfast.class);
            context.getBean(Diary.class).after = () -> locks.lock("account").forceRelease();
            assertThatThrownBy(() -> accounts.pay(5)).isInstanceOf(LockLostException.class);
            assertThat(balance(context)).isZero();
            assertThat(context.getBean(Diary.class).events).noneMatch(event -> event.startsWith("committed"));

            TransactionTemplate outer = context.getBean(TransactionTemplate.class);
            assertThatThrownBy(() -> outer.executeWithoutResult(status -> {
                        context.getBean(Diary.class).after = () -> {};
                        accounts.pay(5);
                        locks.lock("account").forceRelease();
                    }))
                    .isInstanceOf(LockLostException.class);
            assertThat(balance(context)).isZero();
            accounts.pay(7);
            assertThat(balance(context)).isEqualTo(7);
        });
    }

    /** What a method has written on the caller's thread is committed with the caller's transaction, after its future is complete. */
    @Test
    void theLockOfAFutureIsHeldUntilTheEndOfTheTransaction() {
        runner.run(context -> {
            Accounts accounts = context.getBean(Accounts.class);
            List<String> events = context.getBean(Diary.class).events;
            context.getBean(TransactionTemplate.class).executeWithoutResult(status -> {
                accounts.payLater(2, done()).join();
                events.add("both");
            });
            assertThat(events.subList(events.indexOf("both"), events.size()))
                    .containsExactly("both", "committed", "unlocked");
            assertThat(balance(context)).isEqualTo(2);
            accounts.payLater(3, done()).join();
            assertThat(balance(context)).isEqualTo(5);
        });
    }

    @Test
    void theLockOfAFutureIsHeldUntilTheEndOfATransactionThatBeganBefore() {
        runner.withUserConfiguration(TransactionsFurtherOut.class)
                .withPropertyValues("holdfast.locked.order=6")
                .run(context -> {
                    context.getBean(Accounts.class).payInTransaction(5).join();
                    assertThat(context.getBean(Diary.class).events)
                            .containsExactly("begun", "locked", "paid", "committed", "unlocked");
                });
    }

    @Test
    void theLockOfAFutureThatFailsIsHeldUntilTheRollBack() {
        runner.run(context -> {
            Accounts accounts = context.getBean(Accounts.class);
            context.getBean(Diary.class).after = () -> {
                throw new IllegalStateException("out of money");
            };
            TransactionTemplate outer = context.getBean(TransactionTemplate.class);
            assertThatThrownBy(() -> outer.executeWithoutResult(status -> accounts.payLater(5, done())))
                    .isInstanceOf(IllegalStateException.class);
            assertThat(context.getBean(Diary.class).events)
                    .containsExactly("begun", "locked", "paid", "rolled back", "unlocked");
        });
    }

    @Test
    void aTransactionDoesNotCommitAfterTheLockOfAFutureWasLost() {
        runner.run(context -> {
            TransactionTemplate outer = context.getBean(TransactionTemplate.class);
            assertThatThrownBy(() -> outer.executeWithoutResult(status -> {
                        context.getBean(Accounts.class).payLater(5, done()).join();
                        context.getBean(Holdfast.class).lock("account").forceRelease();
                    }))
                    .isInstanceOf(LockLostException.class);
            assertThat(balance(context)).isZero();
        });
    }

    @Test
    void workThatGoesOnAfterTheTransactionKeepsTheLock() {
        runner.run(context -> {
            CompletableFuture<Void> work = new CompletableFuture<>();
            CompletableFuture<Void> result = context.getBean(TransactionTemplate.class)
                    .execute(status -> context.getBean(Accounts.class).payLater(5, work));
            assertThat(balance(context)).isEqualTo(5);
            assertThat(result).isNotDone();
            assertThat(context.getBean(Holdfast.class).lock("account").isLocked())
                    .isTrue();
            work.complete(null);
            assertThat(result).succeedsWithin(Duration.ofSeconds(10));
            assertThat(context.getBean(Holdfast.class).lock("account").isLocked())
                    .isFalse();
            assertThat(context.getBean(Diary.class).events)
                    .containsExactly("begun", "locked", "paid", "committed", "unlocked");
        });
    }

    /** Each would wait for itself otherwise; but none runs beside work that goes on. */
    @Test
    void laterCallsOfATransactionJoinTheLockOfAFuture() {
        runner.run(context -> {
            Accounts accounts = context.getBean(Accounts.class);
            context.getBean(TransactionTemplate.class).executeWithoutResult(status -> {
                CompletableFuture<Void> work = new CompletableFuture<>();
                CompletableFuture<Void> result = accounts.payLater(1, work);
                assertThatThrownBy(() -> accounts.pay(10))
                        .isInstanceOf(LockException.class)
                        .hasMessageContaining("wait for its result");
                assertThatThrownBy(() -> accounts.payLater(10, done()))
                        .isInstanceOf(LockException.class)
                        .hasMessageContaining("wait for");
                work.complete(null);
                result.join();
                accounts.pay(2);
                accounts.payLater(3, done()).join();
            });
            assertThat(context.getBean(Diary.class).events)
                    .containsExactly("begun", "locked", "paid", "paid", "paid", "committed", "unlocked");
            assertThat(balance(context)).isEqualTo(6);
        });
    }

    /** The flag would end what the thread does next, on behalf of somebody else perhaps. */
    @Test
    void anInterruptForALockThatATransactionKeepsIsClearedWhenThatRollsBack() {
        runner.run(context -> {
            Accounts accounts = context.getBean(Accounts.class);
            TransactionTemplate transactions = context.getBean(TransactionTemplate.class);
            assertThatThrownBy(() -> transactions.executeWithoutResult(status -> {
                        accounts.payAndBeInterrupted(1);
                        context.getBean(Holdfast.class).lock("account").forceRelease();
                        assertThatThrownBy(() -> new CountDownLatch(1).await(10, TimeUnit.SECONDS))
                                .isInstanceOf(InterruptedException.class);
                        Thread.currentThread().interrupt();
                    }))
                    .isInstanceOf(LockLostException.class);
            assertThat(Thread.interrupted()).isFalse();
            assertThat(balance(context)).isZero();
        });
    }

    @Test
    void aThreadThatHasLeftTheMethodIsNotInterruptedForItsLeaseAlthoughATransactionKeepsThat() {
        // One after the other, in the order in which they were registered.
        ApplicationContextRunner inOrder =
                runner.withBean(HoldfastBuilderCustomizer.class, () -> builder -> builder.callbacks(Runnable::run));
        inOrder.run(context -> {
            Accounts accounts = context.getBean(Accounts.class);
            TransactionTemplate transactions = context.getBean(TransactionTemplate.class);
            CountDownLatch lost = new CountDownLatch(1);
            assertThatThrownBy(() -> transactions.executeWithoutResult(status -> {
                        accounts.payWithALease(1, lost, null);
                        context.getBean(Holdfast.class).lock("account").forceRelease();
                        assertThatCode(() -> lost.await()).doesNotThrowAnyException();
                        assertThat(Thread.currentThread().isInterrupted()).isFalse();
                    }))
                    .isInstanceOf(LockLostException.class);
            assertThat(balance(context)).isZero();
        });
    }

    /** Its lock is given up when it is complete, so it must not write what the caller commits later. */
    @Test
    void aMonoRunsOnAThreadWithoutTheTransactionOfItsSubscriber() {
        runner.withBean(
                        "open",
                        TransactionBoundary.class,
                        OpenOnEachThread::new,
                        definition -> definition.setPrimary(true))
                .run(context -> {
                    Accounts accounts = context.getBean(Accounts.class);
                    assertThat(accounts.thread().block()).startsWith("boundedElastic");
                    assertThat(accounts.threads().blockLast()).startsWith("boundedElastic");
                });
    }

    /** The thread with the transaction asks for one element after the other, on a thread of its own choice: itself. */
    @Test
    void aFluxDoesNotRunOnTheThreadThatAsksForMore() {
        Thread subscriber = Thread.currentThread();
        runner.withBean(
                        "open",
                        TransactionBoundary.class,
                        () -> new OpenOnEachThread() {
                            @Override
                            public boolean isOpen() {
                                return Thread.currentThread() == subscriber;
                            }
                        },
                        definition -> definition.setPrimary(true))
                .run(context -> assertThat(
                                context.getBean(Accounts.class).threads().toIterable(1))
                        .hasSize(4)
                        .doesNotContain(subscriber.getName()));
    }

    /** A grant mostly comes on another thread than the subscriber's: this takes each for one that has a transaction. */
    private static class OpenOnEachThread implements TransactionBoundary {

        @Override
        public boolean isOpen() {
            return true;
        }

        @Override
        public boolean holdUntilEnd(Runnable check, Runnable release) {
            return false;
        }
    }

    private static CompletableFuture<Void> done() {
        return CompletableFuture.completedFuture(null);
    }

    private static int balance(ApplicationContext context) {
        return context.getBean(JdbcTemplate.class).queryForObject("SELECT balance FROM account", Integer.class);
    }

    static class Diary implements LockObserver {

        Runnable after = () -> {};
        final List<String> events = new CopyOnWriteArrayList<>();

        @Override
        public void acquireEnded(String name, Outcome outcome, Duration waited) {
            events.add("locked");
        }

        @Override
        public void released(String name, Duration held) {
            events.add("unlocked");
        }
    }

    static class Accounts {

        @Autowired
        private JdbcTemplate jdbc;

        @Autowired
        private Diary diary;

        @Locked("account")
        @Transactional
        public void pay(int amount) {
            jdbc.update("UPDATE account SET balance = balance + ?", amount);
            diary.events.add("paid");
            diary.after.run();
        }

        @Locked(value = "account", interruptOnLoss = true)
        public void payAndBeInterrupted(int amount) {
            jdbc.update("UPDATE account SET balance = balance + ?", amount);
        }

        // Its listener comes after what interrupts.
        @Locked(value = "account", interruptOnLoss = true)
        public void payWithALease(int amount, CountDownLatch lost, Lease lease) {
            lease.onLost(reason -> lost.countDown());
            payAndBeInterrupted(amount);
        }

        @Locked("account")
        public CompletableFuture<Void> payLater(int amount, CompletableFuture<Void> work) {
            jdbc.update("UPDATE account SET balance = balance + ?", amount);
            diary.events.add("paid");
            diary.after.run();
            return work;
        }

        @Locked("account")
        @Transactional
        public CompletableFuture<Void> payInTransaction(int amount) {
            return payLater(amount, done());
        }

        @Locked("account")
        public Mono<String> thread() {
            return Mono.fromSupplier(() -> Thread.currentThread().getName());
        }

        @Locked("account")
        public Flux<String> threads() {
            return Flux.range(0, 4).map(i -> Thread.currentThread().getName());
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class Application {

        @Bean
        Diary diary() {
            return new Diary();
        }

        @Bean
        Accounts accounts(JdbcTemplate jdbc) {
            jdbc.execute("CREATE TABLE IF NOT EXISTS account (balance INT)");
            jdbc.update("DELETE FROM account");
            jdbc.update("INSERT INTO account VALUES (0)");
            return new Accounts();
        }

        @Bean
        PlatformTransactionManager transactions(DataSource database, Diary diary, ObjectProvider<Holdfast> locks) {
            return new RecordingTransactions(database, diary, locks);
        }
    }

    /** Transactions further out than locks, if those are told to be further in. */
    @Configuration(proxyBeanMethods = false)
    @EnableTransactionManagement(order = 5)
    static class TransactionsFurtherOut {}

    /** Spring's transactions on one database. Writes down when they begin and end, and whether the lock is held at their end. */
    static class RecordingTransactions extends JdbcTransactionManager {

        private static final long serialVersionUID = 1L;

        private final transient Diary diary;
        private final transient ObjectProvider<Holdfast> locks;

        RecordingTransactions(DataSource database, Diary diary, ObjectProvider<Holdfast> locks) {
            super(database);
            this.diary = diary;
            this.locks = locks;
        }

        @Override
        protected void doBegin(Object transaction, TransactionDefinition definition) {
            super.doBegin(transaction, definition);
            diary.events.add("begun");
        }

        @Override
        protected void doCommit(DefaultTransactionStatus status) {
            super.doCommit(status);
            diary.events.add("committed" + withoutLock());
        }

        @Override
        protected void doRollback(DefaultTransactionStatus status) {
            super.doRollback(status);
            diary.events.add("rolled back" + withoutLock());
        }

        private String withoutLock() {
            return locks.getObject().lock("account").isLocked() ? "" : " without the lock";
        }
    }
}
