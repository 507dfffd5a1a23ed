package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.testkit.RecordingListener;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.args.ClientType;
import redis.clients.jedis.params.ClientKillParams;

/** Waiters that cannot be notified: they are skipped at once, and are back in their position when they ask. */
class DeadWaiterTest extends WithServer {

    @Test
    void deadWaiterCostsNothingWhenItsConnectionIsGone() {
        LockStore dead = open("?ticketTtl=1m");
        LockStore living = open("?ticketTtl=1m");
        LockStore releasing = open("?ticketTtl=1m");
        Claim holder = alice.mutex(name);
        granted(releasing, holder);
        waiting(dead, bob.mutex(name));
        waiting(dead, bob.mutex(name));
        RecordingListener next = waiting(living, alice.mutex(name));
        dead.close();
        awaitSubscribers(1);
        get(releasing.release(holder));
        awaitGrant(next);
    }

    /** As monitoring tools do. */
    @Test
    void subscriberOfAllChannelsDoesNotMakeDeadWaitersLookAlive() {
        LockStore dead = open("?ticketTtl=1m");
        LockStore living = open("?ticketTtl=1m");
        Claim holder = alice.mutex(name);
        granted(living, holder);
        waiting(dead, bob.mutex(name));
        RecordingListener next = waiting(living, alice.mutex(name));
        JedisPubSub monitor = new JedisPubSub() {};
        Thread listening = new Thread(() -> {
            try (Jedis jedis = server.connect()) {
                jedis.psubscribe(monitor, "*");
            }
        });
        listening.start();
        awaitUntil(() -> server.ask(Jedis::pubsubNumPat) == 1);
        dead.close();
        awaitSubscribers(1);
        get(living.release(holder));
        awaitGrant(next);
        monitor.punsubscribe();
    }

    @Test
    void claimsDoNotWaitBehindDeadWaitersOnly() {
        LockStore store = open("?ticketTtl=1m");
        Claim passed = skippedIn(store);
        granted(store, alice.mutex(name));
        ResourceState state = get(store.inspect(name)).orElseThrow();
        assertThat(state.waiters())
                .as("it keeps its position until its ticket expires")
                .extracting(entry -> entry.claim().id())
                .containsExactly(passed.id());
    }

    /** It would hold and wait at once, and one release would end only one of the two. */
    @Test
    void lateCopyOfAnAcquireIsRefusedWhileItsClaimIsSkipped() {
        LockStore store = open("?ticketTtl=1m");
        Claim claim = skippedIn(store);
        assertThat(waiters(store)).containsExactly(claim.id());
        busy(store, claim);
        assertThat(get(store.tryAcquireAll(List.of(claim)))).hasOnlyElementsOfType(Attempt.Busy.class);
        granted(store, alice.mutex(name));
    }

    @Test
    void waiterThatComesBackHasItsPosition() {
        LockStore first = open("?ticketTtl=1m");
        LockStore second = open("?ticketTtl=1m");
        LockStore releasing = open("?ticketTtl=1m");
        Claim holder = alice.mutex(name);
        granted(releasing, holder);
        Claim early = bob.mutex(name);
        RecordingListener earlyListener = waiting(first, early);
        Claim late = alice.mutex(name);
        RecordingListener lateListener = waiting(second, late);
        Claim last = alice.mutex(name);
        waiting(second, last);
        killSubscriptions();
        // A release now finds no subscriber, so both are skipped. Then both subscribe again and refresh their
        // tickets.
        get(releasing.release(holder));
        awaitUntil(() ->
                earlyListener.outcome().isPresent() || lateListener.outcome().isPresent());
        LockStore winner = earlyListener.outcome().isPresent() ? first : second;
        Claim won = winner == first ? early : late;
        awaitSubscribers(2);
        awaitNoneSkipped(2);
        List<ClaimId> order = waiters(releasing);
        assertThat(order).containsExactly(winner == first ? late.id() : early.id(), last.id());
        get(winner.release(won));
        awaitGrant(winner == first ? lateListener : earlyListener);
    }

    @Test
    void waitersOfOneClientComeBackInTheirOrderWhicheverAsksFirst() {
        LockStore store = open("?ticketTtl=1m");
        LockStore releasing = open("?ticketTtl=1m");
        Claim holder = alice.mutex(name);
        granted(releasing, holder);
        Claim early = bob.mutex(name);
        Claim late = bob.mutex(name);
        waiting(store, early);
        waiting(store, late);
        // Only the claims below are refreshed: the store that waited is gone, and another one asks for its claims.
        store.close();
        awaitSubscribers(0);
        get(releasing.release(holder));
        assertThat(renewed(releasing, late)).isInstanceOf(Renewed.Waiting.class);
        assertThat(waiters(releasing)).containsExactly(early.id(), late.id());
        LockStore again = open("?ticketTtl=1m");
        RecordingListener lateListener = new RecordingListener();
        again.enqueue(late.again(), lateListener);
        awaitGrant(lateListener);
    }

    @Test
    void ticketsAreRefreshedWhenTheSubscriptionIsBack() {
        LockStore waiter = open("?ticketTtl=1m");
        LockStore releasing = open("?ticketTtl=1m");
        Claim holder = alice.mutex(name);
        granted(releasing, holder);
        RecordingListener listener = waiting(waiter, bob.mutex(name));
        for (int i = 0; i < 3; i++) {
            killSubscriptions();
        }
        get(releasing.release(holder));
        awaitGrant(listener);
    }

    @Test
    void ticketsOfTheDeadRunOut() {
        LockStore dead = open("?ticketTtl=300ms");
        LockStore store = open("?ticketTtl=300ms");
        Claim holder = alice.read(name);
        granted(store, holder);
        waiting(dead, bob.write(name));
        dead.close();
        pause(400);
        assertThat(waiters(store)).isEmpty();
        get(store.release(holder));
        granted(store, alice.mutex(name));
    }

    @Test
    void releasedWaiterOfAnotherClientIsNotifiedAndForgotten() {
        LockStore waiter = open("");
        LockStore other = open("");
        granted(other, alice.mutex(name));
        Claim claim = bob.mutex(name);
        RecordingListener listener = waiting(waiter, claim);
        assertThat(get(other.release(claim.again())).wasOwner()).isTrue();
        awaitUntil(() -> listener.outcome().isPresent());
        assertThat(listener.outcome()).get().isEqualTo(new RecordingListener.Event.Ended(Renewed.Reason.RELEASED));
        try (Jedis jedis = server.connect()) {
            assertThat(jedis.hexists("holdfast:{" + name + "}", ">" + claim.id()))
                    .isFalse();
        }
    }

    @Test
    void subscriptionThatDiedWithoutNoticeIsReplaced() {
        LockStore waiter = repaired(() -> open("?timeout=300ms&ticketTtl=1m"));
        LockStore releasing = open("?ticketTtl=1m");
        Claim holder = alice.mutex(name);
        granted(releasing, holder);
        Claim claim = bob.mutex(name);
        RecordingListener listener = waitingAfterRepair(waiter, claim);
        server.signal("STOP");
        // Refreshes, as the engine sends them. The first one sends a probe, a later one closes the connection.
        pause(310);
        for (int i = 0; i < 3; i++) {
            failure(waiter.renew(List.of(claim)));
        }
        server.signal("CONT");
        awaitSubscribers(1);
        assertThat(renewed(releasing, holder)).isInstanceOf(Granted.class);
        get(releasing.release(holder));
        awaitGrant(listener);
    }

    // A claim that waits for a name that nobody holds, because its client is gone.
    private Claim skippedIn(LockStore store) {
        LockStore dead = open("?ticketTtl=1m");
        Claim holder = alice.mutex(name);
        granted(store, holder);
        Claim waiter = bob.mutex(name);
        waiting(dead, waiter);
        dead.close();
        awaitSubscribers(0);
        get(store.release(holder));
        return waiter;
    }

    // Waiters that have not asked yet are still skipped.
    private void awaitNoneSkipped(int waiters) {
        try (Jedis jedis = server.connect()) {
            awaitUntil(() -> {
                List<String> fields = jedis.hgetAll("holdfast:{" + name + "}").entrySet().stream()
                        .filter(field -> field.getKey().startsWith("@"))
                        .map(Map.Entry::getValue)
                        .toList();
                return fields.size() == waiters && fields.stream().allMatch(place -> place.endsWith(" 0"));
            });
        }
    }

    private List<ClaimId> waiters(LockStore store) {
        return get(store.inspect(name)).stream()
                .flatMap(state -> state.waiters().stream())
                .map(entry -> entry.claim().id())
                .toList();
    }

    private void killSubscriptions() {
        try (Jedis jedis = server.connect()) {
            jedis.clientKill(new ClientKillParams().type(ClientType.PUBSUB));
        }
    }

    private void awaitSubscribers(int count) {
        try (Jedis jedis = server.connect()) {
            awaitUntil(() -> jedis.pubsubChannels().size() == count);
        }
    }
}
