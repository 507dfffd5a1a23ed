package dev.holdfast.spring.locked;

import dev.holdfast.spring.InvalidLockedMethodException;
import java.lang.reflect.Method;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.Future;
import java.util.stream.BaseStream;
import org.jspecify.annotations.Nullable;
import org.springframework.core.ResolvableType;
import org.springframework.util.ClassUtils;

/** When a method is over, by the type of its result. */
enum ResultKind {
    /** When it returns. */
    VALUE,
    /** When the future that it returns is complete. */
    FUTURE,
    /** When the publisher that it returns is complete, once for each subscription. */
    MONO,
    /** As {@code MONO}, for several elements. */
    FLUX;

    private static final @Nullable Class<?> MONO_TYPE = find("reactor.core.publisher.Mono");
    private static final @Nullable Class<?> FLUX_TYPE = find("reactor.core.publisher.Flux");
    private static final @Nullable Class<?> PUBLISHER_TYPE = find("org.reactivestreams.Publisher");
    private static final String CONTINUATION = "kotlin.coroutines.Continuation";

    boolean isAsynchronous() {
        return this != VALUE;
    }

    boolean isReactive() {
        return this == MONO || this == FLUX;
    }

    /**
     * The kind of a method's result.
     *
     * @throws InvalidLockedMethodException if the work goes on after the method has returned, and its end cannot be seen
     */
    static ResultKind of(Method method) {
        Class<?> type = method.getReturnType();
        if (type == CompletableFuture.class || type == CompletionStage.class) {
            return FUTURE;
        }
        if (type == MONO_TYPE) {
            return MONO;
        }
        if (type == FLUX_TYPE) {
            return FLUX;
        }
        boolean goesOn = Future.class.isAssignableFrom(type)
                || CompletionStage.class.isAssignableFrom(type)
                || Flow.Publisher.class.isAssignableFrom(type)
                || BaseStream.class.isAssignableFrom(type)
                || Callable.class.isAssignableFrom(type)
                || (PUBLISHER_TYPE != null && PUBLISHER_TYPE.isAssignableFrom(type));
        if (goesOn) {
            throw new InvalidLockedMethodException(
                    "@Locked on " + LockedMethod.described(method) + " would be over before its work is: it returns "
                            + type.getSimpleName(),
                    "Return a CompletableFuture, a Mono or a Flux, for which the lock is held until it completes, or the"
                            + " finished result");
        }
        for (Class<?> parameter : method.getParameterTypes()) {
            if (parameter.getName().equals(CONTINUATION)) {
                throw new InvalidLockedMethodException(
                        "@Locked on " + LockedMethod.described(method)
                                + " would be over before its work is: it suspends",
                        "Return a Mono, or use locks.lock(name).acquireAsync() in the coroutine");
            }
        }
        return VALUE;
    }

    /** Whether a call that does nothing has something to return. */
    boolean canBeSkipped(Method method) {
        Class<?> type = method.getReturnType();
        return switch (this) {
            case VALUE -> type == void.class || type == Void.class || type == Optional.class;
            case MONO, FLUX -> true;
            case FUTURE -> {
                Class<?> element =
                        ResolvableType.forMethodReturnType(method).getGeneric(0).resolve(Object.class);
                yield element == Void.class || element == Optional.class;
            }
        };
    }

    /** What a call returns that does nothing. Not for reactive results. */
    static @Nullable Object nothing(Method method) {
        Class<?> type = method.getReturnType();
        if (type == Optional.class) {
            return Optional.empty();
        }
        if (CompletionStage.class.isAssignableFrom(type)) {
            Class<?> element =
                    ResolvableType.forMethodReturnType(method).getGeneric(0).resolve(Object.class);
            return element == Optional.class
                    ? CompletableFuture.completedFuture(Optional.empty())
                    : CompletableFuture.<@Nullable Void>completedFuture(null);
        }
        return null;
    }

    private static @Nullable Class<?> find(String name) {
        return ClassUtils.isPresent(name, ResultKind.class.getClassLoader())
                ? ClassUtils.resolveClassName(name, ResultKind.class.getClassLoader())
                : null;
    }
}
