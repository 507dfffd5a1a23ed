package dev.holdfast.spring.locked;

import dev.holdfast.Lease;
import dev.holdfast.LockException;
import dev.holdfast.LockLostException;
import dev.holdfast.LockTimeoutException;
import java.util.concurrent.CompletionException;
import org.aopalliance.intercept.MethodInvocation;
import org.reactivestreams.Publisher;
import org.springframework.aop.ProxyMethodInvocation;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;

/**
 * Runs a method whose result is a Mono or a Flux: with each subscription the lock is waited for, the method is called, and the lock is
 * given up when the result is complete, has failed or is cancelled. In a class of its own, since an application may have no Reactor.
 */
final class ReactiveCall {

    private ReactiveCall() {}

    static Mono<?> mono(LockRequest request, MethodInvocation invocation, TransactionBoundary transactions) {
        return Mono.defer(() -> mono(request, invocation, new Subscriber(transactions)));
    }

    private static Mono<?> mono(LockRequest request, MethodInvocation invocation, Subscriber subscriber) {
        return Mono.usingWhen(
                        acquire(request),
                        held -> Mono.firstWithSignal(
                                Mono.defer(() -> Mono.from(work(request, held, invocation)))
                                        .subscribeOn(subscriber.outsideTransaction()),
                                loss(held)),
                        ReactiveCall::release,
                        (held, failure) -> release(held),
                        ReactiveCall::release)
                .onErrorMap(ReactiveCall::withoutReactorsWrapping)
                .doOnDiscard(LeaseHold.class, LeaseHold::releaseAsync);
    }

    static Flux<?> flux(LockRequest request, MethodInvocation invocation, TransactionBoundary transactions) {
        return Flux.defer(() -> flux(request, invocation, new Subscriber(transactions)));
    }

    private static Flux<?> flux(LockRequest request, MethodInvocation invocation, Subscriber subscriber) {
        return Flux.usingWhen(
                        acquire(request),
                        // An error of the other publisher would not cancel the work, its end does.
                        held -> Flux.<Object>defer(() -> Flux.from(work(request, held, invocation)))
                                .subscribeOn(subscriber.outsideTransaction())
                                .takeUntilOther(loss(held).onErrorComplete())
                                .concatWith(Mono.defer(() -> lossSoFar(held))),
                        ReactiveCall::release,
                        (held, failure) -> release(held),
                        ReactiveCall::release)
                .onErrorMap(ReactiveCall::withoutReactorsWrapping)
                .doOnDiscard(LeaseHold.class, LeaseHold::releaseAsync);
    }

    private static Mono<LeaseHold> acquire(LockRequest request) {
        Mono<LeaseHold> acquired = Mono.fromFuture(() -> LockAcquirer.acquireAsync(request))
                .doOnDiscard(Lease.class, Lease::releaseAsync)
                .map(lease -> LeaseHold.of(request, lease))
                .onErrorMap(
                        CompletionException.class,
                        failure -> failure.getCause() == null ? failure : failure.getCause());
        return request.method().skips()
                ? acquired.onErrorResume(LockTimeoutException.class, busy -> Mono.empty())
                : acquired;
    }

    /** Whoever subscribes, and whether that thread has a transaction. It may ask for more elements later, on the same thread. */
    private static final class Subscriber {

        private final TransactionBoundary transactions;
        private final boolean inTransaction;

        private Subscriber(TransactionBoundary transactions) {
            this.transactions = transactions;
            this.inTransaction = transactions.isOpen();
        }

        // Mostly the grant comes on another thread than the subscriber's. If either has a transaction, what the method
        // writes there would be committed after the lock was given up.
        private Scheduler outsideTransaction() {
            return inTransaction || transactions.isOpen() ? Schedulers.boundedElastic() : Schedulers.immediate();
        }
    }

    private static Publisher<?> work(LockRequest request, LeaseHold held, MethodInvocation invocation) {
        // Each subscription has its own call, with its own lease among the arguments.
        MethodInvocation call = ((ProxyMethodInvocation) invocation)
                .invocableClone(invocation.getArguments().clone());
        LockedInterceptor.passLease(request, held, call);
        try {
            Publisher<?> work = (Publisher<?>) call.proceed();
            return work == null
                    ? Mono.error(new LockException(request.method() + " returned null instead of a publisher"))
                    : work;
        } catch (Throwable failure) {
            return Mono.error(failure);
        }
    }

    private static Mono<Object> loss(LeaseHold held) {
        return Mono.create(sink -> held.lease().onLost(reason -> {
            LockLostException loss = held.loss();
            if (loss != null) {
                sink.error(loss);
            }
        }));
    }

    private static Mono<Object> lossSoFar(LeaseHold held) {
        LockLostException loss = held.loss();
        return loss == null ? Mono.empty() : Mono.error(loss);
    }

    private static Mono<Void> release(LeaseHold held) {
        return Mono.fromFuture(held::releaseAsync)
                .onErrorMap(failure -> new ReleaseFailed(
                        failure instanceof CompletionException && failure.getCause() != null
                                ? failure.getCause()
                                : failure));
    }

    /**
     * What the subscriber gets if the release has failed. Reactor wraps that failure in one of its own, with what the method has
     * thrown as suppressed. A loss counts more than what the method has thrown, as it does with other results.
     */
    private static Throwable withoutReactorsWrapping(Throwable failure) {
        if (!(failure.getCause() instanceof ReleaseFailed failed)) {
            return failure;
        }
        Throwable ofRelease = failed.why;
        for (Throwable ofMethod : failure.getSuppressed()) {
            if (!(ofRelease instanceof LockLostException)) {
                ofMethod.addSuppressed(ofRelease);
                return ofMethod;
            }
            if (!(ofMethod instanceof LockLostException)) {
                ofRelease.addSuppressed(ofMethod);
            }
        }
        return ofRelease;
    }

    /** Tells a failed release from what a method throws. */
    private static final class ReleaseFailed extends RuntimeException {

        private static final long serialVersionUID = 1L;

        private final transient Throwable why;

        ReleaseFailed(Throwable why) {
            super(why);
            this.why = why;
        }
    }
}
