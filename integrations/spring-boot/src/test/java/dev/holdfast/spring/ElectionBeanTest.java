package dev.holdfast.spring;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Holdfast;
import dev.holdfast.LossReason;
import dev.holdfast.election.Candidate;
import dev.holdfast.election.ElectionOptions;
import dev.holdfast.election.Term;
import dev.holdfast.memory.MemoryLockStore;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spring.boot.ElectionAutoConfiguration;
import dev.holdfast.spring.boot.HoldfastAutoConfiguration;
import dev.holdfast.testkit.fault.ForwardingStore;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.availability.AvailabilityChangeEvent;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.EventListener;

/** Applications that stand against each other, with their locks in one store in memory. */
class ElectionBeanTest {

    /** All applications have it, and none of them closes it. */
    private final LockStore store = new ForwardingStore(new MemoryLockStore(MonotonicClock.SYSTEM)) {
        @Override
        public void close() {}
    };

    private final ApplicationContextRunner without = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(HoldfastAutoConfiguration.class, ElectionAutoConfiguration.class))
            .withBean(LockStore.class, () -> store)
            .withBean(Diary.class);
    // The lease is so long that nobody can be elected because one has ended.
    private final ApplicationContextRunner candidate =
            without.withPropertyValues("holdfast.election.name=billing", "holdfast.election.lease=1h");

    @Test
    void oneLeadsAndTheNextFollowsWhenItIsClosed() {
        candidate.withPropertyValues("holdfast.election.id=second").run(later -> {
            Diary diary = later.getBean(Diary.class);
            long token = diary.elected().token();
            candidate
                    .withPropertyValues("holdfast.election.id=third", "holdfast.election.payload=10.0.0.7")
                    .run(next -> {
                        ElectionBean bean = next.getBean(ElectionBean.class);
                        assertThat(bean.isLeader()).isFalse();
                        assertThat(bean.leader()).map(Candidate::id).contains("second");
                        later.getBean(ElectionBean.class).stop();
                        assertThat(diary.lost()).isEqualTo(LossReason.CLOSED);
                        Term term = next.getBean(Diary.class).elected();
                        assertThat(term.token()).isGreaterThan(token);
                        assertThat(bean.term()).contains(term);
                        assertThat(bean.candidates())
                                .singleElement()
                                .satisfies(
                                        leader -> assertThat(leader.payload()).isEqualTo("10.0.0.7"));
                    });
        });
    }

    /** The store is still there when the listeners learn of the loss, and the lead is given back before the client is closed. */
    @Test
    void theCloseOfTheApplicationResignsBeforeTheStoreIsClosed() {
        Diary[] first = new Diary[1];
        candidate.run(context -> {
            first[0] = context.getBean(Diary.class);
            first[0].elected();
        });
        assertThat(first[0].lost()).isEqualTo(LossReason.CLOSED);
        assertThat(first[0].lockedAtTheLoss).isTrue();
        candidate.run(context -> context.getBean(Diary.class).elected());
    }

    @Test
    void aContextThatIsStoppedAndStartedStandsAgain() {
        candidate.run(context -> {
            Diary diary = context.getBean(Diary.class);
            long token = diary.elected().token();
            ((ConfigurableApplicationContext) context.getSourceApplicationContext()).stop();
            assertThat(diary.lost()).isEqualTo(LossReason.CLOSED);
            ElectionBean bean = context.getBean(ElectionBean.class);
            assertThat(bean.isRunning()).isFalse();
            assertThat(bean.isLeader()).isFalse();
            assertThat(bean.leader()).isEmpty();
            bean.proclaim("again");
            ((ConfigurableApplicationContext) context.getSourceApplicationContext()).start();
            assertThat(diary.elected().token()).isGreaterThan(token);
            assertThat(bean.leader()).map(Candidate::payload).contains("again");
        });
    }

    @Test
    void whoResignsIsElectedAgainIfThereIsNobodyElse() {
        candidate.run(context -> {
            Diary diary = context.getBean(Diary.class);
            diary.elected();
            context.getBean(ElectionBean.class).resign();
            assertThat(diary.lost()).isEqualTo(LossReason.RESIGNED);
            diary.elected();
        });
    }

    @Test
    void thereMayBeSeveralAndListenersMayChoose() {
        without.withUserConfiguration(Two.class).run(context -> {
            assertThat(context.getBeansOfType(ElectionBean.class)).hasSize(2);
            assertThat(context.getBean(Diary.class).reports.poll(60, TimeUnit.SECONDS))
                    .isEqualTo("reports");
            context.getBean(Diary.class).elected();
            context.getBean(Diary.class).elected();
            assertThat(context.getBean(Diary.class).reports).isEmpty();
        });
    }

    @Test
    void leadingChangesNoAvailability() {
        candidate.run(context -> {
            Diary diary = context.getBean(Diary.class);
            diary.elected();
            context.getBean(ElectionBean.class).stop();
            diary.lost();
            assertThat(diary.availability).isEmpty();
        });
    }

    @Test
    void withoutANameNobodyStands() {
        without.run(context -> assertThat(context).doesNotHaveBean(ElectionBean.class));
        without.withPropertyValues("holdfast.election.name=")
                .run(context -> assertThat(context).hasNotFailed().doesNotHaveBean(ElectionBean.class));
        candidate.withPropertyValues("holdfast.election.auto-startup=false").run(context -> {
            ElectionBean bean = context.getBean(ElectionBean.class);
            assertThat(bean.isRunning()).isFalse();
            bean.start();
            bean.start();
            context.getBean(Diary.class).elected();
        });
    }

    @Test
    void whatIsWrongIsReportedAtTheStart() {
        candidate
                .withPropertyValues("holdfast.election.id=two words")
                .run(context ->
                        assertThat(context.getStartupFailure()).rootCause().hasMessageContaining("white space"));
        without.withPropertyValues("holdfast.election.name=" + "n".repeat(256))
                .run(context ->
                        assertThat(context.getStartupFailure()).rootCause().hasMessageContaining("255"));
    }

    /** Writes down what happens to the application. */
    static class Diary {

        private final BlockingQueue<Term> terms = new LinkedBlockingQueue<>();
        private final BlockingQueue<LossReason> losses = new LinkedBlockingQueue<>();
        final BlockingQueue<String> reports = new LinkedBlockingQueue<>();
        final BlockingQueue<Object> availability = new LinkedBlockingQueue<>();
        volatile boolean lockedAtTheLoss;

        @Autowired
        private Holdfast locks;

        @EventListener
        void on(ElectedEvent event) {
            terms.add(event.term());
        }

        @EventListener(condition = "#event.name == 'reports'")
        void onReports(ElectedEvent event) {
            reports.add(event.getName());
        }

        @EventListener
        void on(ElectionLostEvent event) {
            lockedAtTheLoss = locks.lock("at the loss").tryAcquire().isPresent();
            losses.add(event.reason());
        }

        @EventListener
        void on(AvailabilityChangeEvent<?> event) {
            availability.add(event);
        }

        Term elected() throws InterruptedException {
            Term term = terms.poll(60, TimeUnit.SECONDS);
            assertThat(term).as("elected").isNotNull();
            return term;
        }

        LossReason lost() {
            try {
                LossReason reason = losses.poll(60, TimeUnit.SECONDS);
                assertThat(reason).as("lost").isNotNull();
                return reason;
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }

    @Configuration(proxyBeanMethods = false)
    static class Two {

        @Bean
        ElectionBean billing(Holdfast locks) {
            return new ElectionBean(locks, "billing", ElectionOptions.defaults());
        }

        @Bean
        ElectionBean reports(Holdfast locks) {
            return new ElectionBean(locks, "reports", ElectionOptions.defaults());
        }
    }
}
