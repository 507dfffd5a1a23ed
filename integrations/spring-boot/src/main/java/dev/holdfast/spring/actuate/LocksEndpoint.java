package dev.holdfast.spring.actuate;

import dev.holdfast.Holdfast;
import dev.holdfast.spi.ResourceState;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.Selector.Match;

/**
 * Who holds and who waits, in all processes that share the store; and a way to take a lock away. It reads only, unless {@code
 * management.endpoint.locks.access} is {@code unrestricted}.
 *
 * <p>A name may have slashes in it: what follows the endpoint's path is the name. Thread-safe. The store is asked with each request,
 * and a request fails with {@link dev.holdfast.StoreUnavailableException} if it does not answer in 10 s.
 */
@Endpoint(id = "locks", defaultAccess = Access.READ_ONLY)
public final class LocksEndpoint {

    /** How many names are looked at if the request does not say. */
    public static final int DEFAULT_LIMIT = 100;

    /** The most names that are looked at with one request: each is a request to the store. */
    public static final int MAX_LIMIT = 1_000;

    private final Holdfast locks;

    /** @param locks the client whose store is asked */
    public LocksEndpoint(Holdfast locks) {
        this.locks = locks;
    }

    /**
     * The locks in use, in the order of their names.
     *
     * @param prefix what the names begin with; all if it is null
     * @param limit how many names to look at, 1 to {@value #MAX_LIMIT}; {@value #DEFAULT_LIMIT} if it is null
     */
    @ReadOperation
    public LocksDescriptor locks(@Nullable String prefix, @Nullable Integer limit) {
        int most = limit == null ? DEFAULT_LIMIT : limit;
        if (most < 1 || most > MAX_LIMIT) {
            throw refused("limit must be 1 to " + MAX_LIMIT + ", but was " + most);
        }
        List<String> names = valid(() -> locks.list(prefix == null ? "" : prefix, most + 1));
        List<LockDescriptor> found = new ArrayList<>();
        for (String name : names.subList(0, Math.min(most, names.size()))) {
            LockDescriptor one = inUse(name);
            if (one != null) {
                found.add(one);
            }
        }
        return new LocksDescriptor(found, names.size() <= most);
    }

    /**
     * One lock.
     *
     * @param name the parts of its name between the slashes
     * @return null if nobody holds it and nobody waits
     */
    @ReadOperation
    public @Nullable LockDescriptor lock(@Selector(match = Match.ALL_REMAINING) String... name) {
        return inUse(joined(name));
    }

    /**
     * Takes a lock away from those who hold it. Exactly what is seen now is released: one who gets the lock meanwhile keeps it. Those
     * who wait keep their places, and the next of them gets the lock.
     *
     * @param name the parts of its name between the slashes
     * @param token if it is not null, only the holder with this token, as the endpoint has shown it
     */
    @DeleteOperation
    public ReleaseDescriptor release(@Selector(match = Match.ALL_REMAINING) String[] name, @Nullable String token) {
        String whole = joined(name);
        List<ClaimDescriptor> released = new ArrayList<>();
        ResourceState state = valid(() -> locks.state(whole)).orElse(null);
        if (state != null) {
            for (ResourceState.Entry holder : state.holders()) {
                boolean isMeant = token == null || token.equals(ClaimDescriptor.token(holder));
                if (isMeant && locks.forceRelease(holder)) {
                    released.add(ClaimDescriptor.of(holder));
                }
            }
        }
        return new ReleaseDescriptor(whole, released);
    }

    private @Nullable LockDescriptor inUse(String name) {
        return valid(() -> locks.state(name))
                .filter(ResourceState::isInUse)
                .map(LockDescriptor::of)
                .orElse(null);
    }

    private static String joined(String... name) {
        if (name.length == 0) {
            throw refused("The name of a lock is missing");
        }
        return String.join("/", name);
    }

    // What is no name can only be a mistake in the request, and not one of the server.
    private static <T> T valid(Supplier<T> question) {
        try {
            return question.get();
        } catch (IllegalArgumentException wrong) {
            throw refused(String.valueOf(wrong.getMessage()));
        }
    }

    private static InvalidEndpointRequestException refused(String why) {
        return new InvalidEndpointRequestException(why, why);
    }
}
