package dev.holdfast.spring.locked;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spring.InvalidLockedMethodException;
import dev.holdfast.spring.Locked;
import java.util.Arrays;
import java.util.List;
import java.util.function.LongConsumer;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** A call of a locked method on the own object is found in the code, and nothing else is taken for one. */
class SelfCallsTest {

    @Test
    void callsOnTheOwnObjectAreFound() {
        assertThat(found(Calls.class))
                .containsExactlyInAnyOrder(
                        "SelfCallsTest.Calls.plainly calls SelfCallsTest.Calls.pay(long)",
                        "SelfCallsTest.Calls.amongArguments calls SelfCallsTest.Calls.pay(long)",
                        "SelfCallsTest.Calls.inAnArgumentWithBranches calls SelfCallsTest.Calls.payTwice(long, Object)",
                        "SelfCallsTest.Calls.inALambda calls SelfCallsTest.Calls.pay(long)",
                        "SelfCallsTest.Calls.byReference calls SelfCallsTest.Calls.pay(long)",
                        "SelfCallsTest.Calls.afterASwitch calls SelfCallsTest.Calls.pay(long)",
                        "SelfCallsTest.Calls.whileItComputes calls SelfCallsTest.Calls.pay(long)");
    }

    @Test
    void callsOfOthersAndOfItselfAreNone() {
        assertThat(found(Innocent.class)).isEmpty();
    }

    @Test
    void inheritedCodeIsReadToo() {
        assertThat(found(Child.class)).containsExactly("SelfCallsTest.Parent.process calls SelfCallsTest.Child.step()");
    }

    @Test
    void theApplicationStartsUnlessItIsToldNotTo() {
        Contexts.inMemory()
                .withBean(Calls.class)
                .run(context -> assertThat(context).hasNotFailed());
        Contexts.inMemory()
                .withBean(Innocent.class)
                .withPropertyValues("holdfast.locked.self-calls=fail")
                .run(context -> assertThat(context).hasNotFailed());
        Contexts.inMemory()
                .withBean(Child.class)
                .withPropertyValues("holdfast.locked.self-calls=fail")
                .run(context -> assertThat(Contexts.rootCause(context.getStartupFailure()))
                        .isInstanceOf(InvalidLockedMethodException.class)
                        .hasMessageContaining("Parent.process calls")
                        .hasMessageContaining("runs without the lock")
                        .hasMessageContaining("another bean"));
        Contexts.inMemory()
                .withBean(Child.class)
                .withPropertyValues("holdfast.locked.self-calls=ignore")
                .run(context -> assertThat(context).hasNotFailed());
    }

    private static List<String> found(Class<?> type) {
        return SelfCalls.in(
                type,
                Arrays.stream(type.getDeclaredMethods())
                        .filter(method -> method.isAnnotationPresent(Locked.class))
                        .toList());
    }

    static class Calls {

        private long sum;

        @Locked("order:#{#id}")
        public long pay(long id) {
            return id;
        }

        @Locked("order:#{#id}")
        public void payTwice(long id, Object what) {}

        public void plainly() {
            pay(1);
        }

        public String amongArguments(String text) {
            return String.join(text, "a", Long.toString(this.pay(text.length())));
        }

        public void inAnArgumentWithBranches(boolean first, Double rate) {
            payTwice(first ? 1 : rate > 0.5 ? 2L : 3L, first && rate < 1.0 ? "a" : new int[][] {{1}, {2}});
        }

        public void inALambda() {
            LongStream.of(1, 2).forEach(id -> pay(id));
        }

        public LongConsumer byReference() {
            return this::pay;
        }

        public void afterASwitch(String what) {
            long id = switch (what) {
                case "a" -> 1;
                case "b" -> 2;
                default -> {
                    try {
                        yield Long.parseLong(what);
                    } catch (NumberFormatException e) {
                        throw new IllegalArgumentException(e);
                    }
                }
            };
            pay(id);
        }

        public void whileItComputes(long[] ids, double factor) {
            for (int i = 0; i < ids.length; i++) {
                sum += ids[i]++ * 2L + (long) (factor * i) << 1;
                synchronized (this) {
                    sum -= pay(ids[i]) > 3 ? sum : -sum;
                }
            }
        }
    }

    static class Innocent {

        private Innocent self;

        @Locked("order:#{#id}")
        public long pay(long id) {
            return id <= 0 ? 0 : pay(id - 1);
        }

        public long onAnother(Innocent other) {
            return other.pay(1) + self.pay(2) + this.self.pay(3) + other().pay(4);
        }

        public LongConsumer byReference() {
            return self::pay;
        }

        public void ofTheSameName() {
            pay("x");
        }

        public long withBranches(boolean mine, Innocent other) {
            return (mine ? self : other).pay(mine ? 1 : 2);
        }

        private void pay(String id) {}

        private Innocent other() {
            return self;
        }
    }

    static class Parent {

        public void step() {}

        public void process() {
            step();
        }
    }

    static class Child extends Parent {

        @Override
        @Locked("step")
        public void step() {
            super.step();
        }
    }
}
