package dev.holdfast.redis.record;

import dev.holdfast.redis.client.Replies;
import dev.holdfast.redis.client.ServerError;
import dev.holdfast.redis.record.ClaimArguments.StoredClaim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.ResourceState;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** Reads the reply of {@code inspect.lua}. */
public final class InspectReply {

    private static final int COUNTER = 0;
    private static final int LIMIT = 1;
    private static final int NOW = 2;
    private static final int GRANTS = 3;
    private static final int WAITERS = 4;

    private InspectReply() {}

    /**
     * Reads a reply about a name.
     *
     * @param record the key of the record, for messages
     */
    public static ResourceState state(LockName name, byte[] record, List<?> parts) {
        try {
            return state(name, parts);
        } catch (IllegalArgumentException foreign) {
            String key = new String(record, StandardCharsets.UTF_8);
            throw ServerError.returned(
                    "HOLDFAST-FOREIGN key " + key + " was written by somebody else: " + foreign.getMessage(), name);
        }
    }

    private static ResourceState state(LockName name, List<?> parts) {
        int limit = (int) Replies.number(parts, LIMIT);
        long now = Replies.number(parts, NOW);
        List<StoredClaim> grants = new ArrayList<>();
        List<?> grantParts = Replies.list(parts.get(GRANTS));
        for (int i = 0; i < grantParts.size(); i += 2) {
            grants.add(
                    ClaimArguments.grant(name, limit, Replies.bytes(grantParts, i), Replies.bytes(grantParts, i + 1)));
        }
        List<StoredClaim> waiters = new ArrayList<>();
        List<?> waiterParts = Replies.list(parts.get(WAITERS));
        for (int i = 0; i < waiterParts.size(); i += 2) {
            waiters.add(ClaimArguments.waiter(
                    name, limit, Replies.bytes(waiterParts, i), Replies.bytes(waiterParts, i + 1)));
        }
        grants.sort(Comparator.comparingLong(StoredClaim::counter));
        boolean free = grants.isEmpty() && waiters.isEmpty();
        return new ResourceState(
                name, free ? 0 : limit, Replies.number(parts, COUNTER), entries(grants, now), entries(waiters, now));
    }

    private static List<ResourceState.Entry> entries(List<StoredClaim> claims, long now) {
        return claims.stream()
                .map(stored -> new ResourceState.Entry(
                        stored.claim(), stored.counter(), since(stored, now), left(stored, now)))
                .toList();
    }

    // If the server's clock has stepped back, the age must not become negative.
    private static Duration since(StoredClaim stored, long now) {
        return ClaimArguments.micros(Math.max(0, now - stored.since()));
    }

    private static Duration left(StoredClaim stored, long now) {
        return ClaimArguments.micros(Math.max(0, stored.ends() - now));
    }
}
