package dev.holdfast.spring.locked;

import dev.holdfast.Holdfast;
import dev.holdfast.LockException;
import dev.holdfast.LockLostException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;

/** Runs a method while it holds its lock. Thread-safe. */
public final class LockedInterceptor implements MethodInterceptor {

    private final LockedMethods methods;
    private final Supplier<Holdfast> locks;
    private final Supplier<TransactionBoundary> transactions;

    /**
     * @param locks the client, which is asked for with each call: a proxy may be made before it
     * @param transactions those of the application
     */
    public LockedInterceptor(
            LockedMethods methods, Supplier<Holdfast> locks, Supplier<TransactionBoundary> transactions) {
        this.methods = methods;
        this.locks = locks;
        this.transactions = transactions;
    }

    @Override
    public @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
        Object target = invocation.getThis();
        Class<?> type = target == null ? invocation.getMethod().getDeclaringClass() : AopUtils.getTargetClass(target);
        LockedMethod method = methods.find(invocation.getMethod(), type);
        if (method == null) {
            return invocation.proceed();
        }
        List<String> names = method.names().of(target, invocation.getArguments());
        LockRequest request = new LockRequest(locks.get(), method, names);
        return switch (method.result()) {
            case VALUE -> value(request, invocation);
            case FUTURE -> future(request, invocation);
            case MONO -> ReactiveCall.mono(request, invocation, transactions.get());
            case FLUX -> ReactiveCall.flux(request, invocation, transactions.get());
        };
    }

    private @Nullable Object value(LockRequest request, MethodInvocation invocation) throws Throwable {
        HeldLock covering = HeldLocks.covering(request);
        HeldLock held = covering == null ? acquire(request) : covering.joined();
        if (held == null) {
            return ResultKind.nothing(request.method().method());
        }
        passLease(request, held, invocation);
        HeldLocks.push(held);
        Runnable end = () -> {
            HeldLocks.remove(held);
            release(request, held);
        };
        boolean untilCommit = covering == null && holdUntilCommit(end);
        return result(invocation, () -> {
            if (untilCommit) {
                held.methodEnded();
                requireHeld(request, held);
            } else {
                end.run();
            }
        });
    }

    private boolean holdUntilCommit(Runnable end) {
        try {
            return transactions.get().holdUntilEnd(HeldLocks::requireNoneLost, end);
        } catch (RuntimeException | Error e) {
            end.run();
            throw e;
        }
    }

    private static void release(LockRequest request, HeldLock held) {
        try {
            held.release();
        } catch (LockLostException lost) {
            forgetInterrupt(request);
            throw lost;
        }
    }

    // It was meant for the method, which is over.
    private static void forgetInterrupt(LockRequest request) {
        if (request.method().options().interruptOnLoss()) {
            Thread.interrupted();
        }
    }

    private static void requireHeld(LockRequest request, HeldLock held) {
        LockLostException loss = held.loss();
        if (loss != null) {
            forgetInterrupt(request);
            throw loss;
        }
    }

    // What the method throws counts, unless the lock was lost: then that is why it failed, or what matters more.
    private static @Nullable Object result(MethodInvocation invocation, Runnable end) throws Throwable {
        Object result = null;
        Throwable failure = null;
        try {
            result = invocation.proceed();
        } catch (Throwable e) {
            failure = e;
        }
        try {
            end.run();
        } catch (LockLostException lost) {
            if (failure != null && failure != lost) {
                lost.addSuppressed(failure);
            }
            throw lost;
        } catch (RuntimeException | Error e) {
            if (failure == null) {
                throw e;
            }
            failure.addSuppressed(e);
        }
        if (failure != null) {
            throw failure;
        }
        return result;
    }

    private @Nullable Object future(LockRequest request, MethodInvocation invocation) throws Throwable {
        WorkHold held = holdForWork(request);
        if (held == null) {
            return ResultKind.nothing(request.method().method());
        }
        passLease(request, held, invocation);
        return beginWork(held, invocation);
    }

    private @Nullable WorkHold holdForWork(LockRequest request) throws InterruptedException {
        HeldLock covering = HeldLocks.covering(request);
        if (covering instanceof WorkHold inTransaction && inTransaction.isIdle()) {
            return inTransaction;
        }
        if (covering != null) {
            throw new LockException(
                    "Lock " + request.shown() + " of " + request.method() + " is held by a method that calls it, or by"
                            + " one before it in this transaction: its result would outlive that lock, or it would wait for"
                            + " itself. Nothing was run; call it without the lock, or wait for the other's result");
        }
        LeaseHold acquired = (LeaseHold) acquire(request);
        return acquired == null ? null : new WorkHold(acquired);
    }

    private <T> @Nullable CompletableFuture<T> beginWork(WorkHold held, MethodInvocation invocation) throws Throwable {
        boolean isKept = HeldLocks.contains(held);
        if (!isKept) {
            HeldLocks.push(held);
            isKept = holdUntilCommit(() -> {
                HeldLocks.remove(held);
                held.release();
            });
        }
        WorkHold.Work<T> work = held.begin();
        CompletionStage<T> stage = null;
        try {
            stage = stage(invocation.proceed());
        } finally {
            work.returned(stage);
            if (!isKept) {
                HeldLocks.remove(held);
                held.releaseAsync();
            }
        }
        return stage == null ? null : work.result(stage);
    }

    @SuppressWarnings("unchecked")
    private static <T> @Nullable CompletionStage<T> stage(@Nullable Object result) {
        return (CompletionStage<T>) result;
    }

    private static @Nullable HeldLock acquire(LockRequest request) throws InterruptedException {
        try {
            return LockAcquirer.acquire(request);
        } catch (InterruptedException interrupt) {
            if (request.method().declaresInterrupts()) {
                throw interrupt;
            }
            throw LockAcquirer.interrupted(request, interrupt);
        }
    }

    static void passLease(LockRequest request, HeldLock held, MethodInvocation invocation) {
        if (request.method().wantsLease()) {
            invocation.getArguments()[request.method().leaseParameter()] = held.lease();
        }
    }
}
