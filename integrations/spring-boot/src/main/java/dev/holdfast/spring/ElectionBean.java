package dev.holdfast.spring;

import dev.holdfast.Holdfast;
import dev.holdfast.election.Candidate;
import dev.holdfast.election.Election;
import dev.holdfast.election.ElectionOptions;
import dev.holdfast.election.Term;
import java.util.List;
import java.util.Optional;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.ApplicationEventPublisherAware;
import org.springframework.context.SmartLifecycle;

/**
 * This application as a candidate in an election, for as long as it runs: it stands when the context has started, and leaves before
 * any bean is destroyed. It publishes {@link ElectedEvent} and {@link ElectionLostEvent}.
 *
 * <pre>{@code
 * @Bean
 * ElectionBean billing(Holdfast locks) {
 *     return new ElectionBean(locks, "billing", ElectionOptions.defaults().withId(podName));
 * }
 * }</pre>
 *
 * <p>The keys {@code holdfast.election.*} make one without any code. All guarantees are those of {@link Election}. Whether it leads
 * changes neither the readiness nor the liveness of the application. A bean that was stopped can be started again, and is another
 * candidate then, behind all others. Thread-safe.
 */
public final class ElectionBean implements SmartLifecycle, ApplicationEventPublisherAware {

    private static final Log LOG = LogFactory.getLog(ElectionBean.class);

    private final Holdfast locks;
    private final String name;
    private final boolean autoStartup;
    private final int phase;
    private volatile ElectionOptions options;
    private volatile @Nullable ApplicationEventPublisher events;
    private volatile @Nullable Election present;

    /**
     * A candidate that stands when the application has started.
     *
     * @param locks the client
     * @param name what is led
     * @param options how the candidate takes part
     * @throws IllegalArgumentException if the name is none
     */
    public ElectionBean(Holdfast locks, String name, ElectionOptions options) {
        this(locks, name, options, true, DEFAULT_PHASE);
    }

    /**
     * A candidate.
     *
     * @param autoStartup whether it stands when the application has started; else when it is told to {@link #start}
     * @param phase those with a smaller one are started before it and stopped after it; {@link SmartLifecycle#DEFAULT_PHASE} stands
     *     last and leaves first
     */
    public ElectionBean(Holdfast locks, String name, ElectionOptions options, boolean autoStartup, int phase) {
        this.locks = locks;
        this.name = locks.election(name, options)
                .name(); // a wrong name is refused here, and not when the application has started
        this.options = options;
        this.autoStartup = autoStartup;
        this.phase = phase;
    }

    @Override
    public void setApplicationEventPublisher(ApplicationEventPublisher publisher) {
        events = publisher;
    }

    /** What is led. */
    public String name() {
        return name;
    }

    /** Whether this application leads, by the local clock, at the moment of the call. The store is not asked. */
    public boolean isLeader() {
        return term().isPresent();
    }

    /** The present term; empty if this application does not lead. The store is not asked. */
    public Optional<Term> term() {
        Election election = present;
        return election == null ? Optional.empty() : election.term();
    }

    /** The candidate while it stands; empty before the start and after the stop. It must not be closed: stop this bean. */
    public Optional<Election> election() {
        return Optional.ofNullable(present);
    }

    /** Who leads, as the store knows it, with one round trip. */
    public Optional<Candidate> leader() {
        return asked().leader();
    }

    /** Who leads and who waits, in their order, with one round trip. */
    public List<Candidate> candidates() {
        return asked().candidates();
    }

    // Whoever does not stand may ask, too.
    private Election asked() {
        Election election = present;
        return election == null ? locks.election(name, options) : election;
    }

    /** Ends the term, if there is one, and stands again behind all others. Does not wait. */
    public void resign() {
        Election election = present;
        if (election != null) {
            election.resign();
        }
    }

    /**
     * Sets what this candidate proclaims, also after a stop and a start.
     *
     * @throws IllegalArgumentException if it is too long or has control characters
     * @throws dev.holdfast.StoreUnavailableException if the store did not answer; the next renewal brings the payload
     */
    public synchronized void proclaim(String payload) {
        options = options.withPayload(payload);
        Election election = present;
        if (election != null) {
            election.proclaim(payload);
        }
    }

    /** Stands for election. Does nothing if it stands already. */
    @Override
    public synchronized void start() {
        if (present != null) {
            return;
        }
        Election election = locks.election(name, options);
        election.onElected(term -> publish(new ElectedEvent(this, term)));
        election.onLost(reason -> publish(new ElectionLostEvent(this, reason)));
        election.onFailure(failure -> LOG.warn(
                "This application cannot stand for election \"" + name + "\" at the moment, and tries again", failure));
        present = election;
        election.start();
    }

    /**
     * Leaves the election: ends the term, waits until the listeners of both events have returned, for one lease at the most, and
     * gives the lead back. Another process may be elected when it returns.
     */
    @Override
    public void stop() {
        Election leaving;
        synchronized (this) {
            leaving = present;
            present = null;
        }
        if (leaving != null) {
            leaving.close();
        }
    }

    @Override
    public boolean isRunning() {
        return present != null;
    }

    @Override
    public boolean isAutoStartup() {
        return autoStartup;
    }

    @Override
    public int getPhase() {
        return phase;
    }

    private void publish(Object event) {
        ApplicationEventPublisher publisher = events;
        if (publisher != null) {
            publisher.publishEvent(event);
        }
    }

    @Override
    public String toString() {
        return "ElectionBean[" + name + (isLeader() ? ", leads]" : "]");
    }
}
