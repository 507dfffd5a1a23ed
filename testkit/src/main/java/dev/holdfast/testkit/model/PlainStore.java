package dev.holdfast.testkit.model;

import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.ClaimListener;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.ListenerRegistration;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreTraits;
import dev.holdfast.spi.StoreTraits.Liveness;
import dev.holdfast.spi.StoreTraits.TokenSurvival;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;

/**
 * A store that does what {@link PlainRules} say, with a clock and with listeners: the model with which all other stores are
 * compared, the one in memory too. It answers at once. Not thread-safe.
 */
final class PlainStore implements LockStore {

    private final StoreTraits traits;
    private final MonotonicClock clock;
    private final long origin;
    private final PlainRules rules;
    private final Map<ClaimId, ClaimListener> listeners = new HashMap<>();

    PlainStore(MonotonicClock clock, Duration ticketTtl) {
        this.traits = new StoreTraits(
                "plain",
                true,
                true,
                true,
                TokenSurvival.PROCESS,
                Liveness.LEASE,
                Duration.ofNanos(1_000),
                ticketTtl,
                Duration.ofSeconds(1));
        this.clock = clock;
        this.origin = clock.nanoTime();
        this.rules = new PlainRules(ticketTtl);
    }

    @Override
    public StoreTraits traits() {
        return traits;
    }

    @Override
    public CompletionStage<Attempt> tryAcquire(Claim claim) {
        return answer(() -> rules.tryAcquire(claim, now(), wall()));
    }

    @Override
    public CompletionStage<List<Attempt>> tryAcquireAll(List<Claim> claims) {
        return answer(() -> rules.tryAcquireAll(claims, now(), wall()));
    }

    @Override
    public ListenerRegistration enqueue(Claim claim, ClaimListener listener) {
        Renewed answer;
        try {
            answer = rules.enqueue(claim, now(), wall());
        } catch (StoreException refused) {
            notifyOfGrants();
            listener.failed(refused);
            return ListenerRegistration.NONE;
        }
        // Of what was granted before this answer, an earlier listener of the claim is notified.
        notifyOfGrants();
        if (answer instanceof Renewed.Waiting place) {
            listeners.put(claim.id(), listener);
            listener.waiting(place.position(), place.retryAfter());
        } else if (answer instanceof Granted granted) {
            listener.granted(granted);
        } else if (answer instanceof Renewed.Gone gone) {
            listener.ended(gone.reason());
        }
        return () -> listeners.remove(claim.id(), listener);
    }

    @Override
    public CompletionStage<List<Renewed>> renew(Collection<Claim> claims) {
        return answer(() -> {
            List<Renewed> answers = new ArrayList<>();
            for (Claim claim : claims) {
                Renewed answer = rules.renew(claim, now(), wall());
                answers.add(answer);
                if (answer instanceof Renewed.Gone gone) {
                    end(claim, gone.reason());
                }
            }
            return answers;
        });
    }

    @Override
    public CompletionStage<Released> release(Claim claim) {
        return answer(() -> {
            boolean wasThere = rules.release(claim, now(), wall());
            end(claim, Renewed.Reason.RELEASED);
            return wasThere ? Released.ALONE : Released.NOT_OWNER;
        });
    }

    @Override
    public CompletionStage<Optional<ResourceState>> inspect(LockName name) {
        return answer(() -> rules.inspect(name, now(), wall()).filter(ResourceState::isInUse));
    }

    @Override
    public CompletionStage<List<LockName>> list(String prefix, int limit) {
        return answer(() -> rules.inUse(now(), wall()).stream()
                .filter(name -> name.value().startsWith(prefix))
                .limit(limit)
                .toList());
    }

    @Override
    public void close() {
        listeners.clear();
    }

    private <T> CompletionStage<T> answer(Supplier<T> call) {
        try {
            return CompletableFuture.completedStage(call.get());
        } catch (StoreException refused) {
            return CompletableFuture.failedStage(refused);
        } finally {
            notifyOfGrants();
        }
    }

    private void notifyOfGrants() {
        for (Released.Handed handed : rules.takeHanded()) {
            ClaimListener waiter = listeners.remove(handed.id());
            if (waiter != null) {
                waiter.granted(handed.granted());
            }
        }
    }

    private void end(Claim claim, Renewed.Reason reason) {
        ClaimListener waiter = listeners.remove(claim.id());
        if (waiter != null) {
            waiter.ended(reason);
        }
    }

    private long now() {
        return (clock.nanoTime() - origin) / 1_000;
    }

    private long wall() {
        return clock.epochMicros();
    }

    @Override
    public String toString() {
        return "the plain model";
    }
}
