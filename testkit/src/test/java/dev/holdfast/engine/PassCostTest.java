package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Engines;
import dev.holdfast.Holdfast;
import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.internal.Engine;
import dev.holdfast.internal.time.Agenda;
import dev.holdfast.testkit.fault.Verb;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * Tests that a pass over what is due costs as much as what is due, however much is held. The elements that the engine's
 * collections hand out are counted, so that the speed of the machine does not matter.
 */
class PassCostTest extends EngineFixture {

    private static final int HELD = 20_000;
    private static final int DUE = 10;
    private static final Duration LONG = Duration.ofHours(20);

    /** For each one that is due: it is taken off two agendas and sorted in anew, at most twice in the time of the test. */
    private static final long MOST_LOOKS = 30 * DUE;

    /** Walks over a whole collection; each other method looks at one element. */
    private static final Set<String> WALKS = Set.of(
            "iterator",
            "spliterator",
            "stream",
            "parallelStream",
            "toArray",
            "forEach",
            "removeIf",
            "values",
            "keySet",
            "entrySet",
            "replaceAll");

    private final AtomicLong looks = new AtomicLong();
    private final Engine engine = Engines.of(locks);

    private static Object read(Object owner, String field) throws ReflectiveOperationException {
        return accessible(owner, field).get(owner);
    }

    private static Field accessible(Object owner, String field) throws ReflectiveOperationException {
        Field found = owner.getClass().getDeclaredField(field);
        found.setAccessible(true);
        return found;
    }

    /** Puts a counted collection in the place of a set or map that is still empty. */
    private <T> void count(Class<T> type, Object owner, String field) throws ReflectiveOperationException {
        Object real = read(owner, field);
        Object counted = Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (self, method, args) -> {
            boolean walks = WALKS.contains(method.getName());
            int size = real instanceof Collection<?> set ? set.size() : ((Map<?, ?>) real).size();
            looks.addAndGet(walks ? size : 1);
            try {
                return method.invoke(real, args);
            } catch (InvocationTargetException thrown) {
                throw thrown.getCause();
            }
        });
        accessible(owner, field).set(owner, counted);
    }

    /** As the sorted set of an agenda, which is declared as what it is. */
    private final class CountedSet extends TreeSet<Object> {

        private static final long serialVersionUID = 1;

        private CountedSet(TreeSet<Object> like) {
            super(like.comparator());
        }

        @Override
        public Object first() {
            looks.incrementAndGet();
            return super.first();
        }

        @Override
        public Iterator<Object> iterator() {
            looks.addAndGet(size());
            return super.iterator();
        }
    }

    @SuppressWarnings("unchecked")
    private void countAgenda(Agenda<?> agenda) throws ReflectiveOperationException {
        count(Set.class, agenda, "fresh");
        accessible(agenda, "sorted").set(agenda, new CountedSet((TreeSet<Object>) read(agenda, "sorted")));
    }

    private void countAll() throws ReflectiveOperationException {
        countAgenda(engine.losses());
        countAgenda(engine.renewals());
        count(Map.class, engine.locks(), "locks");
        count(Map.class, engine.locks(), "contenders");
    }

    private static List<Lease> hold(Holdfast client, String prefix, int count, LockOptions options) {
        return IntStream.range(0, count)
                .mapToObj(i -> Actor.end(client.lock(prefix + i, options).acquireAsync()))
                .toList();
    }

    @Test
    void aRenewalLooksAtNothingButWhatIsDue() throws ReflectiveOperationException {
        countAll();
        LockOptions options = LockOptions.defaults();
        List<Lease> idle = hold(locks, "idle", HELD, options.withLease(LONG));
        List<Lease> due = hold(locks, "due", DUE, options);
        // New entries are sorted in by the first pass of each agenda.
        pass(LEASE);
        assertThat(looks).as("counts at all").hasValueGreaterThan(HELD);
        looks.set(0);
        store.reset();
        clock.advanceAndSettle(LEASE.dividedBy(2));
        assertThat(store.count(Verb.RENEW)).isPositive();
        assertThat(looks).hasValueLessThan(MOST_LOOKS);
        assertThat(due).allMatch(Lease::isValid);
        due.forEach(Lease::release);
        idle.forEach(Lease::release);
    }

    @Test
    void aLossLooksAtNothingButWhatIsDue() throws ReflectiveOperationException {
        countAll();
        LockOptions options = LockOptions.defaults();
        List<Lease> idle = hold(locks, "idle", HELD, options.withFixedLease(LONG));
        List<String> lost = new CopyOnWriteArrayList<>();
        hold(locks, "first", 1, options.withFixedLease(LEASE.dividedBy(2)).withOnLost(reason -> lost.add("first")));
        hold(locks, "due", DUE, options.withFixedLease(LEASE).withOnLost(reason -> lost.add("due")));
        clock.advanceAndSettle(LEASE.dividedBy(2));
        Wait.until("the first pass is over", () -> lost.size() == 1);
        clock.settle();
        looks.set(0);
        clock.advanceAndSettle(LEASE.dividedBy(2));
        Wait.until("those that are due are lost", () -> lost.size() == 1 + DUE);
        clock.settle();
        assertThat(looks).hasValueLessThan(MOST_LOOKS);
        idle.forEach(Lease::release);
    }
}
