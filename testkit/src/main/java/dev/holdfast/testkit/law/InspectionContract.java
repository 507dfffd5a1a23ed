package dev.holdfast.testkit.law;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.spi.ResourceState;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Tests of the results of {@code inspect} and {@code list}. This is not a law, but people and {@code forceRelease}
 * rely on them.
 */
abstract class InspectionContract extends LeaseLaw {

    @Test
    public final void unusedNameIsNotInUse() {
        LockName name = name();
        assertThat(inspected(name)).isEmpty();
        assertThat(get(store().list(prefix(), 10))).isEmpty();
        assertThat(inspected(name)).as("an inspection is no use").isEmpty();
    }

    @Test
    public final void holderIsShownWithAgeAndRemainingTime() {
        LockName name = name();
        OwnerInfo owner =
                new OwnerInfo("client", "host.example", 4711, "main", "nightly \"report\"", List.of("a", "b"));
        Claim plain = alice.claim(name, 2, 5);
        Claim claim = new Claim(name, plain.id(), 2, 5, LONG, owner);
        long counter = granted(claim).counter();
        advance(brief());
        ResourceState state = inspected(name).orElseThrow();
        assertThat(state.name()).isEqualTo(name);
        assertThat(state.limit()).isEqualTo(5);
        assertThat(state.counter()).isEqualTo(counter);
        assertThat(state.waiters()).isEmpty();
        ResourceState.Entry entry = onlyHolder(name);
        assertThat(entry.counter()).isEqualTo(counter);
        assertThat(entry.claim().id()).isEqualTo(claim.id());
        assertThat(entry.claim().permits()).isEqualTo(2);
        assertThat(entry.claim().limit()).isEqualTo(5);
        assertThat(entry.claim().owner()).isEqualTo(owner);
        assertThat(entry.age()).isBetween(brief().minus(traits().leaseStep()), Duration.ofMinutes(1));
        assertThat(entry.remaining())
                .isBetween(
                        LONG.minus(Duration.ofMinutes(1)), LONG.minus(brief()).plus(traits().leaseStep()));
    }

    @Test
    public final void renewalReplacesTheOwnerAndKeepsTheAge() {
        LockName name = name();
        Claim claim = alice.mutex(name);
        granted(claim);
        advance(brief());
        OwnerInfo renamed = new OwnerInfo("alice", "", 0, "other thread", "", List.of("held"));
        held(new Claim(name, claim.id(), 1, 1, LONG, renamed));
        assertThat(onlyHolder(name).claim().owner()).isEqualTo(renamed);
        assertThat(onlyHolder(name).age()).isGreaterThanOrEqualTo(brief().minus(traits().leaseStep()));
    }

    @Test
    public final void holdersAndWaitersAreShownInOrder() {
        LockName name = name();
        List<Claim> holders = List.of(alice.claim(name, 1, 3), bob.claim(name, 1, 3), alice.claim(name, 1, 3));
        holders.forEach(this::granted);
        held(holders.get(0));
        assertThat(holders(name)).extracting(Claim::id).containsExactlyElementsOf(ids(holders));
        assumeQueue();
        List<Claim> waiters = List.of(bob.claim(name, 3, 3), alice.claim(name, 1, 3), bob.claim(name, 2, 3));
        waiters.forEach(this::waiting);
        renewed(waiters.get(0));
        assertThat(waiters(name)).extracting(Claim::id).containsExactlyElementsOf(ids(waiters));
        assertThat(inspected(name).orElseThrow().waiters())
                .allMatch(entry -> entry.counter() == 0)
                .allMatch(entry ->
                        entry.remaining().compareTo(traits().ticketTtl().plus(traits().leaseStep())) <= 0)
                .extracting(entry -> entry.claim().permits())
                .containsExactly(3, 1, 2);
    }

    @Test
    public final void releasedAndExpiredNamesAreNotListed() {
        Claim staying = alice.mutex(name());
        Claim released = alice.mutex(name());
        granted(staying);
        granted(released);
        released(released.again());
        assertThat(get(store().list(prefix(), 10))).containsExactly(staying.name());
        assumeLeases();
        granted(alice.mutex(name()).withLease(brief()));
        outlive(brief());
        assertThat(get(store().list(prefix(), 10))).containsExactly(staying.name());
    }

    @Test
    public final void namesOnWhichSomebodyOnlyWaitsAreListed() {
        assumeQueue();
        Claim waiter = alice.waitSet(name());
        waiting(waiter);
        assertThat(get(store().list(prefix(), 10))).containsExactly(waiter.name());
    }

    @Test
    public final void prefixesHaveNoWildcards() {
        List<String> endings =
                List.of("a%b", "a_b", "axb", "a\\b", "a*b", "a?b", "a[b", "a'b", "a\"b", "a b", "a{b", "A%B");
        endings.forEach(ending -> granted(alice.mutex(name(ending))));
        for (String ending : endings) {
            String prefix = prefix() + ending.substring(0, 2);
            assertThat(get(store().list(prefix, 50)))
                    .as("names that begin with %s", prefix)
                    .containsExactlyElementsOf(endings.stream()
                            .filter(other -> other.startsWith(ending.substring(0, 2)))
                            .map(this::name)
                            .toList());
        }
        assertThat(get(store().list(prefix() + "%", 50))).isEmpty();
        assertThat(get(store().list(prefix() + "_", 50))).isEmpty();
        assertThat(get(store().list(prefix() + "a*", 50))).containsExactly(name("a*b"));
    }

    @Test
    public final void similarNamesAreDifferentResources() {
        List<LockName> names = new ArrayList<>();
        for (String ending : List.of(
                "name",
                "Name",
                "NAME",
                "name ",
                " name",
                "name  ",
                "n\u00e4me",
                "na\u0308me",
                "n\u00c4me",
                "stra\u00dfe",
                "strasse",
                "\u0131",
                "i",
                "\u0130",
                "\u212a",
                "k",
                "K",
                "\uff41",
                "a",
                "\ud83d\udd12",
                "\ud83d\udd13",
                "1",
                "01",
                "1.0",
                "null")) {
            names.add(name(ending));
        }
        for (LockName name : names) {
            granted(alice.mutex(name));
        }
        for (LockName name : names) {
            assertThat(holders(name)).as("holders of \"%s\"", name).hasSize(1);
        }
        assertThat(get(store().list(prefix(), 100)))
                .containsExactlyElementsOf(names.stream().sorted().toList());
    }

    @Test
    public final void listIsInTheOrderOfBytesAndCutAtItsLimit() {
        // By UTF-16 units the lock (a surrogate pair) would come before U+FFFD; by bytes it comes after.
        List<String> endings = List.of("!", "0", "A", "Z", "a", "z", "\u00e4", "\u20ac", "\ufffd", "\ud83d\udd12");
        List<LockName> names = endings.stream().map(this::name).toList();
        for (int i = 0; i < names.size(); i++) {
            granted(alice.mutex(names.get((i * 7) % names.size())));
        }
        assertThat(get(store().list(prefix(), LockStore.MAX_LIST))).containsExactlyElementsOf(names);
        assertThat(get(store().list(prefix(), 4))).containsExactlyElementsOf(names.subList(0, 4));
        assertThat(get(store().list("", LockStore.MAX_LIST))).containsAll(names);
    }

    @Test
    public final void anotherHandleSeesTheSame() {
        LockStore other = another();
        Claim claim = alice.claim(name(), 2, 7);
        granted(claim);
        ResourceState state = get(other.inspect(claim.name())).orElseThrow();
        assertThat(state.holders()).extracting(entry -> entry.claim().id()).containsExactly(claim.id());
        assertThat(get(other.list(prefix(), 10))).containsExactly(claim.name());
    }

    private static List<ClaimId> ids(List<Claim> claims) {
        return claims.stream().map(Claim::id).toList();
    }
}
