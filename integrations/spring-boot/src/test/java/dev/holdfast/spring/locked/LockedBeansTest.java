package dev.holdfast.spring.locked;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Lease;
import dev.holdfast.spring.InvalidLockedMethodException;
import dev.holdfast.spring.Locked;
import dev.holdfast.spring.Locked.IfBusy;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** An application with a method that would run without its lock does not start. */
class LockedBeansTest {

    @ParameterizedTest
    @MethodSource("wrong")
    void aWrongMethodIsReportedAtTheStart(Class<?> bean, String problem) {
        Contexts.inMemory().withBean(bean).run(context -> {
            assertThat(context).hasFailed();
            assertThat(Contexts.rootCause(context.getStartupFailure()))
                    .isInstanceOf(InvalidLockedMethodException.class)
                    .hasMessageContaining(bean.getSimpleName())
                    .hasMessageContaining(problem);
        });
    }

    static Stream<Arguments> wrong() {
        return Stream.of(
                Arguments.of(FinalMethod.class, "is final"),
                Arguments.of(PrivateMethod.class, "is private"),
                Arguments.of(StaticMethod.class, "is static"),
                Arguments.of(SkipsAValue.class, "nothing to return as int"),
                Arguments.of(SkipsAFuture.class, "nothing to return"),
                Arguments.of(UnknownParameter.class, "uses #idd, which is none of its parameters [id]"),
                Arguments.of(NoExpression.class, "outside of an expression"),
                Arguments.of(BadExpression.class, "cannot be read"),
                Arguments.of(NoName.class, "has no name"),
                Arguments.of(EmptyName.class, "has an empty name"),
                Arguments.of(PlainFuture.class, "would be over before its work is"),
                Arguments.of(LazyStream.class, "would be over before its work is"),
                Arguments.of(BadDuration.class, "maxWait = \"soon\", which is no duration"),
                Arguments.of(ShortLease.class, "100 ms"),
                Arguments.of(EndsTooEarly.class, "lockAtLeast = PT1M, but the lock is taken away after PT30S"),
                Arguments.of(TooManyPermits.class, "takes 3 permits of 2"),
                Arguments.of(PermitsOfNothing.class, "does not say of how many"),
                Arguments.of(SeveralReadLocks.class, "only a mutex"),
                Arguments.of(SemaphoreOfReaders.class, "at once"),
                Arguments.of(ReadsAndWrites.class, "both read and write"),
                Arguments.of(TwoLeases.class, "several parameters of the type Lease"),
                Arguments.of(InterruptsAFuture.class, "not on the thread"));
    }

    @Test
    void aFinalClassIsReportedBySpring() {
        Contexts.inMemory()
                .withBean(FinalClass.class)
                .run(context -> assertThat(context.getStartupFailure())
                        .hasStackTraceContaining("FinalClass")
                        .hasStackTraceContaining("final class"));
    }

    @Test
    void aBeanThatWasMadeTooEarlyIsReported() {
        Contexts.inMemory()
                .withUserConfiguration(TooEarly.class)
                .run(context -> assertThat(Contexts.rootCause(context.getStartupFailure()))
                        .hasMessageContaining("has no effect")
                        .hasMessageContaining("BeanPostProcessor"));
    }

    @Test
    void aProxyOfInterfacesThatLacksTheMethodIsReported() {
        Contexts.inMemory()
                .withBean(Hidden.class)
                .run(context -> assertThat(Contexts.rootCause(context.getStartupFailure()))
                        .hasMessageContaining("the methods of its interfaces only"));
    }

    @Test
    void methodsThatAreNotPublicAreLocked() {
        Contexts.inMemory().withBean(PackagePrivate.class).run(context -> {
            assertThat(context).hasNotFailed();
            assertThat(context.getBean(PackagePrivate.class).locked(context.getBean(dev.holdfast.Holdfast.class)))
                    .isTrue();
        });
    }

    @Test
    void maxHoldOfTheConfigurationCountsForLockAtLeast() {
        Contexts.inMemory()
                .withBean(KeptForLong.class)
                .withPropertyValues("holdfast.max-hold=30s")
                .run(context -> assertThat(Contexts.rootCause(context.getStartupFailure()))
                        .hasMessageContaining("lockAtLeast = PT1M")
                        .hasMessageContaining("holdfast.max-hold"));
    }

    static class EndsTooEarly {
        @Locked(name = "a", maxHold = "30s", lockAtLeast = "1m")
        public void run() {}
    }

    static class KeptForLong {
        @Locked(name = "a", lockAtLeast = "1m")
        public void run() {}
    }

    static class PackagePrivate {
        @Locked("a")
        boolean locked(dev.holdfast.Holdfast locks) {
            return locks.lock("a").isHeldByCurrentThread();
        }
    }

    static class FinalMethod {
        @Locked("a")
        public final void run() {}
    }

    static class PrivateMethod {
        @Locked("a")
        private void run() {}
    }

    static class StaticMethod {
        @Locked("a")
        public static void run() {}
    }

    static class SkipsAValue {
        @Locked(name = "a", ifBusy = IfBusy.SKIP)
        public int run() {
            return 1;
        }
    }

    static class SkipsAFuture {
        @Locked(name = "a", ifBusy = IfBusy.SKIP)
        public CompletableFuture<String> run() {
            return new CompletableFuture<>();
        }
    }

    static class UnknownParameter {
        @Locked("a:#{#idd}")
        public void run(String id) {}
    }

    static class NoExpression {
        @Locked("a:#id")
        public void run(String id) {}
    }

    static class BadExpression {
        @Locked("a:#{#id")
        public void run(String id) {}
    }

    static class NoName {
        @Locked
        public void run() {}
    }

    static class EmptyName {
        @Locked("")
        public void run() {}
    }

    static class PlainFuture {
        @Locked("a")
        public Future<String> run() {
            return new CompletableFuture<>();
        }
    }

    static class LazyStream {
        @Locked("a")
        public Stream<String> run() {
            return Stream.of();
        }
    }

    static class BadDuration {
        @Locked(name = "a", maxWait = "soon")
        public void run() {}
    }

    static class ShortLease {
        @Locked(name = "a", lease = "5ms")
        public void run() {}
    }

    static class TooManyPermits {
        @Locked(name = "a", permits = 3, of = 2)
        public void run() {}
    }

    static class PermitsOfNothing {
        @Locked(name = "a", permits = 3)
        public void run() {}
    }

    static class SeveralReadLocks {
        @Locked(
                name = {"a", "b"},
                read = true)
        public void run() {}
    }

    static class SemaphoreOfReaders {
        @Locked(name = "a", read = true, of = 2)
        public void run() {}
    }

    static class ReadsAndWrites {
        @Locked(name = "a", read = true, write = true)
        public void run() {}
    }

    static class TwoLeases {
        @Locked("a")
        public void run(Lease one, Lease two) {}
    }

    static class InterruptsAFuture {
        @Locked(name = "a", interruptOnLoss = true)
        public CompletableFuture<String> run() {
            return new CompletableFuture<>();
        }
    }

    static final class FinalClass {
        @Locked("a")
        public void run() {}
    }

    static class Good {
        @Locked("a")
        public void run() {}
    }

    interface Visible {
        void other();
    }

    static class Hidden implements Visible {
        @Override
        public void other() {}

        @Locked("a")
        public void run() {}
    }

    @Configuration(proxyBeanMethods = false)
    static class TooEarly {

        @Bean
        static Good good() {
            return new Good();
        }

        @Bean
        static First needsGood(Good good) {
            return new First(good);
        }

        private record First(Good good) implements BeanPostProcessor, org.springframework.core.PriorityOrdered {
            @Override
            public int getOrder() {
                return 0;
            }
        }
    }
}
