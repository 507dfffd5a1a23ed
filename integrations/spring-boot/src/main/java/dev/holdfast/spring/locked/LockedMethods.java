package dev.holdfast.spring.locked;

import dev.holdfast.Lease;
import dev.holdfast.LockOptions;
import dev.holdfast.spi.Claim;
import dev.holdfast.spring.InvalidLockedMethodException;
import dev.holdfast.spring.Locked;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.MethodClassKey;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.util.StringUtils;

/** Reads the {@link Locked} of methods, and checks what can be checked before a call. Thread-safe. */
public final class LockedMethods {

    /**
     * What holds for methods that say nothing else.
     *
     * @param options the options of locks
     * @param maxWait how long to wait for a lock
     */
    public record Defaults(LockOptions options, Duration maxWait) {}

    private final ConfigurableBeanFactory beans;
    private final Supplier<Defaults> defaults;
    private final DefaultParameterNameDiscoverer parameterNames = new DefaultParameterNameDiscoverer();
    private final Map<MethodClassKey, Optional<LockedMethod>> read = new ConcurrentHashMap<>();

    /**
     * @param beans resolves placeholders, and the beans that expressions name
     * @param defaults is asked when the first method is read
     */
    public LockedMethods(ConfigurableBeanFactory beans, Supplier<Defaults> defaults) {
        this.beans = beans;
        this.defaults = defaults;
    }

    /** Whether a call of the method is to be locked, without reading how. */
    static boolean isLocked(Method method, Class<?> target) {
        return AnnotatedElementUtils.hasAnnotation(AopUtils.getMostSpecificMethod(method, target), Locked.class);
    }

    /**
     * How a method is locked; null if it is not.
     *
     * @throws InvalidLockedMethodException if its annotation is wrong
     */
    @Nullable
    LockedMethod find(Method method, Class<?> target) {
        MethodClassKey key = new MethodClassKey(method, target);
        Optional<LockedMethod> known = read.get(key);
        if (known == null) {
            Method specific = AopUtils.getMostSpecificMethod(method, target);
            known = Optional.ofNullable(AnnotatedElementUtils.findMergedAnnotation(specific, Locked.class))
                    .map(locked -> new Reader(specific, locked).read());
            read.put(key, known);
        }
        return known.orElse(null);
    }

    /** Reads one annotation. */
    private final class Reader {

        private final Method method;
        private final Locked locked;

        Reader(Method method, Locked locked) {
            this.method = method;
            this.locked = locked;
        }

        LockedMethod read() {
            ResultKind result = ResultKind.of(method);
            boolean skips = locked.ifBusy() == Locked.IfBusy.SKIP;
            check(
                    !skips || result.canBeSkipped(method),
                    "has ifBusy = SKIP, but a skipped call has nothing to return as "
                            + method.getGenericReturnType().getTypeName(),
                    "Return void or an Optional, or use ifBusy = THROW");
            check(
                    !locked.interruptOnLoss() || !result.isAsynchronous(),
                    "has interruptOnLoss, but its work is not on the thread that calls it",
                    "Leave it out: an asynchronous result is cancelled when the lock is lost");
            List<String> texts =
                    Arrays.stream(locked.name()).map(this::resolved).toList();
            check(!texts.isEmpty(), "has no name", "Give it one: @Locked(\"order:#{#id}\")");
            Duration maxWait = duration("maxWait", locked.maxWait())
                    .orElseGet(() -> skips ? Duration.ZERO : defaults.get().maxWait());
            Duration atLeast = duration("lockAtLeast", locked.lockAtLeast()).orElse(Duration.ZERO);
            LockedMethod method = new LockedMethod(
                    this.method,
                    new LockNames(this.method, texts, parameterNames, beans),
                    kind(),
                    locked.permits(),
                    locked.of(),
                    maxWait,
                    skips,
                    atLeast,
                    options(atLeast),
                    result,
                    leaseParameter());
            checkKind(method);
            return method;
        }

        private LockKind kind() {
            check(!locked.read() || !locked.write(), "has both read and write", "Leave out one of them");
            if (locked.read()) {
                return LockKind.READ;
            }
            return locked.write() ? LockKind.WRITE : LockKind.MUTEX;
        }

        private void checkKind(LockedMethod method) {
            boolean mutex = !method.isSemaphore() && method.kind() == LockKind.MUTEX;
            check(
                    mutex || method.names().isOneText(),
                    "has several names, but only a mutex may have them",
                    "Give it one name");
            check(
                    !method.isSemaphore() || method.kind() == LockKind.MUTEX,
                    "is a semaphore (of = " + method.of() + ") and a read-write lock at once",
                    "Leave out one of them");
            check(method.of() >= 0, "has of = " + method.of(), "Say how many permits there are, or leave it out");
            check(
                    method.permits() == 1 || method.isSemaphore(),
                    "has permits = " + method.permits() + ", but does not say of how many",
                    "Add of = ..");
            check(
                    method.permits() >= 1 && (!method.isSemaphore() || method.permits() <= method.of()),
                    "takes " + method.permits() + " permits of " + method.of(),
                    "Take 1 to " + method.of());
        }

        private LockOptions options(Duration atLeast) {
            LockOptions options = defaults.get().options();
            try {
                Optional<Duration> lease = duration("lease", locked.lease());
                if (lease.isPresent()) {
                    options = options.withLease(lease.get());
                }
                Duration shortest = options.autoRenew() ? atLeast : withMargin(atLeast);
                if (shortest.compareTo(options.lease()) > 0) {
                    options = options.withLease(shortest);
                }
                Optional<Duration> maxHold = duration("maxHold", locked.maxHold());
                if (maxHold.isPresent()) {
                    options = options.withMaxHold(maxHold.get());
                }
            } catch (IllegalArgumentException e) {
                throw wrong("has a wrong time: " + e.getMessage(), "Correct it");
            }
            Duration maxHold = options.maxHold().orElse(atLeast);
            check(
                    maxHold.compareTo(atLeast) >= 0,
                    "has lockAtLeast = " + atLeast + ", but the lock is taken away after " + maxHold,
                    "Give maxHold more time (unless the annotation has one, holdfast.max-hold counts), or lockAtLeast less");
            return locked.interruptOnLoss() ? options.withInterruptOnLoss(true) : options;
        }

        // A lease that is not renewed is taken for lost, and given back, a hundredth and 2 ms before it is over.
        private Duration withMargin(Duration time) {
            Duration lease = time.plus(time.dividedBy(99)).plusMillis(3);
            boolean isCut = lease.compareTo(Claim.MAX_LEASE) > 0 && time.compareTo(Claim.MAX_LEASE) <= 0;
            return isCut ? Claim.MAX_LEASE : lease;
        }

        private int leaseParameter() {
            List<Integer> found = new ArrayList<>();
            Class<?>[] types = method.getParameterTypes();
            for (int i = 0; i < types.length; i++) {
                if (types[i] == Lease.class) {
                    found.add(i);
                }
            }
            check(
                    found.size() <= 1,
                    "has several parameters of the type Lease",
                    "There is one lease: leave one of them");
            return found.isEmpty() ? -1 : found.get(0);
        }

        private Optional<Duration> duration(String attribute, String text) {
            String resolved = resolved(text);
            if (!StringUtils.hasText(resolved)) {
                return Optional.empty();
            }
            Duration duration;
            try {
                duration = DurationStyle.detectAndParse(resolved);
            } catch (IllegalArgumentException e) {
                throw wrong(
                        "has " + attribute + " = \"" + resolved + "\", which is no duration", "Write 30s, 5m or PT30S");
            }
            check(!duration.isNegative(), "has " + attribute + " = \"" + resolved + "\"", "It must not be negative");
            return Optional.of(duration);
        }

        private String resolved(String text) {
            String resolved = beans.resolveEmbeddedValue(text);
            return resolved == null ? "" : resolved;
        }

        private void check(boolean right, String problem, String remedy) {
            if (!right) {
                throw wrong(problem, remedy);
            }
        }

        private InvalidLockedMethodException wrong(String problem, String remedy) {
            return new InvalidLockedMethodException(
                    "@Locked on " + LockedMethod.described(method) + " " + problem, remedy);
        }
    }
}
