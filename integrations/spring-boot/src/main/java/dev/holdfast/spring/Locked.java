package dev.holdfast.spring;

import dev.holdfast.DistributedLock;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.springframework.aot.hint.annotation.Reflective;
import org.springframework.core.annotation.AliasFor;

/**
 * A method of a bean that runs only while it holds a lock which the threads of all processes share.
 *
 * <pre>{@code
 * @Locked("order:#{#id}")
 * @Transactional
 * public void pay(long id) { ... }
 * }</pre>
 *
 * <p>The lock is taken before the method, and before its transaction begins; it is released after the transaction has ended. If it
 * is not free in time, the method does not run. If it is lost while the method runs, a transaction that began under it does not
 * commit, and the call ends with {@link dev.holdfast.LockLostException}.
 *
 * <ul>
 *   <li><b>Re-entry.</b> A thread that holds the name may call further methods with that name, and may use {@link
 *       DistributedLock#lock()}. Methods with a parameter of the type {@link dev.holdfast.Lease}, with {@link #lockAtLeast}, with
 *       {@link #of} or with an asynchronous result hold a lease instead, which belongs to no thread: other locked methods that the
 *       thread calls meanwhile join it, and {@code DistributedLock.lock()} would wait for it.
 *   <li><b>Called in a transaction.</b> If the caller's transaction is open already, the lock is taken inside of it, and is held
 *       until that transaction has ended: a lock that is released before the commit protects nothing. If the method returns
 *       a future, both must be over. Further calls in the transaction join the lock once that future is complete.
 *   <li><b>Results.</b> If the method returns a {@code CompletableFuture}, {@code CompletionStage}, {@code Mono} or {@code Flux},
 *       the lock is held until that completes. With a {@code Mono} or {@code Flux} it is waited for without a thread, each time
 *       somebody subscribes, and the method runs on no thread that has a transaction of the subscriber's. Other results that
 *       are not complete when the method returns are refused.
 *   <li><b>A parameter of the type {@code Lease}</b> gets the lease: its token, and listeners. Callers pass null.
 *   <li><b>What cannot be done.</b> Spring intercepts calls from one bean to another. A method that is private, static or final is
 *       not intercepted, and the application does not start. A call inside the same object is not intercepted either: it
 *       runs without the lock. Those that the code shows are logged at the start. Put the method into another bean.
 * </ul>
 *
 * <p>Texts may have placeholders ({@code ${..}}). Durations are written as everywhere in Spring Boot: {@code 30s}, {@code 5m},
 * {@code PT30S}.
 */
@Documented
@Reflective
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.METHOD, ElementType.ANNOTATION_TYPE})
public @interface Locked {

    /** What a call does if the lock is not free in time. */
    enum IfBusy {
        /** It fails with {@link dev.holdfast.LockTimeoutException}. */
        THROW,
        /**
         * It does nothing, and returns nothing: only for methods that return void, an {@code Optional}, a {@code Mono}, a {@code
         * Flux}, or a future of {@code Void} or of an {@code Optional}.
         */
        SKIP
    }

    /** Short for {@link #name}. */
    @AliasFor("name")
    String[] value() default {};

    /**
     * The name of the lock; if there are several, all or none are held. {@code #{..}} is an expression in Spring's language, in
     * which {@code #id} is a parameter, {@code #p0} the first one, {@code #root.target} the bean, and {@code @other} another bean.
     * An expression whose value is a collection gives one name for each element.
     *
     * <p>A value that is null or empty, and one without a text of its own (a class that does not override {@code toString}), is an
     * error. A parameter that does not exist is one at the start.
     */
    @AliasFor("value")
    String[] name() default {};

    /**
     * Whether it is the read lock of {@link dev.holdfast.Holdfast#readWriteLock}: many at a time, while nobody writes. Such a method has
     * one name. A name is that of a mutex, of a read-write lock or of a semaphore, the same in all programs.
     */
    boolean read() default false;

    /** Whether it is the write lock of {@link dev.holdfast.Holdfast#readWriteLock}: one at a time, while nobody reads. */
    boolean write() default false;

    /**
     * How many permits the call takes of those that {@link #of} gives. At most {@code of / permits} calls run at once over all
     * processes.
     */
    int permits() default 1;

    /** If it is not 0, the name is a semaphore with so many permits. All programs that use the name must say the same. */
    int of() default 0;

    /**
     * How long to wait for the lock. (No annotation may have a member named {@code wait}.) Empty for the key {@code holdfast.locked.max-wait} (10 s unless it is set); with {@link
     * IfBusy#SKIP} empty means not to wait.
     */
    String maxWait() default "";

    /** What to do if the lock is not free in time. The method never runs without the lock. */
    IfBusy ifBusy() default IfBusy.THROW;

    /**
     * How long others wait if this process dies. Empty for the key {@code holdfast.lease}. It does not limit the method: while that
     * runs, the lease is renewed.
     */
    String lease() default "";

    /** After how long the lock is taken away from the method, which then ends as if it was lost. Empty for {@code holdfast.max-hold}. */
    String maxHold() default "";

    /**
     * For how long the lock stays taken, counted from when it was acquired, if the method ends earlier: a job that is due at the
     * same moment in several processes is then done by one of them, though their clocks differ. It is also the shortest lease, so
     * that it stays taken if the process dies; {@link #maxHold} must not be less. It is given back early if the application
     * is closed.
     */
    String lockAtLeast() default "";

    /**
     * Whether the thread that runs the method is interrupted if the lock is lost before the method has ended. Not for
     * asynchronous results: those are cancelled in any case.
     */
    boolean interruptOnLoss() default false;
}
