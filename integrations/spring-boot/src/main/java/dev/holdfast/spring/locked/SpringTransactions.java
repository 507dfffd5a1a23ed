package dev.holdfast.spring.locked;

import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.ReactiveTransactionManager;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Lets no transaction commit after a lock of its thread was lost: each transaction manager asks before its commit. And holds a lock
 * that is taken in a transaction until that has ended.
 */
public final class SpringTransactions implements TransactionBoundary, BeanPostProcessor, TransactionExecutionListener {

    @Override
    public boolean isOpen() {
        return TransactionSynchronizationManager.isActualTransactionActive();
    }

    @Override
    public boolean holdUntilEnd(Runnable check, Runnable release) {
        if (!isOpen() || !TransactionSynchronizationManager.isSynchronizationActive()) {
            return false;
        }
        TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {
            @Override
            public void beforeCommit(boolean readOnly) {
                check.run();
            }

            @Override
            public void afterCompletion(int status) {
                release.run();
            }
        });
        return true;
    }

    /** A reactive transaction belongs to no thread: it is rolled back because its Mono is cancelled. */
    @Override
    public Object postProcessAfterInitialization(Object bean, String beanName) {
        if (bean instanceof ConfigurableTransactionManager manager && !(bean instanceof ReactiveTransactionManager)) {
            manager.addListener(this);
        }
        return bean;
    }

    @Override
    public void beforeCommit(TransactionExecution transaction) {
        HeldLocks.requireNoneLost();
    }
}
