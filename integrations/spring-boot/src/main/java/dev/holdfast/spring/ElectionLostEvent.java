package dev.holdfast.spring;

import dev.holdfast.LossReason;
import org.springframework.context.ApplicationEvent;

/**
 * This application does not lead any more. There is exactly one for each {@link ElectedEvent}, also when the application is closed,
 * and another process may be elected as soon as its listeners have returned.
 */
public final class ElectionLostEvent extends ApplicationEvent {

    private static final long serialVersionUID = 1L;

    private final LossReason reason;

    /**
     * @param election the candidate that led
     * @param reason why it does not lead any more
     */
    public ElectionLostEvent(ElectionBean election, LossReason reason) {
        super(election);
        this.reason = reason;
    }

    /** The candidate that led. */
    public ElectionBean election() {
        return (ElectionBean) getSource();
    }

    /** What was led; for the conditions of listeners: {@code #event.name == 'billing'}. */
    public String getName() {
        return election().name();
    }

    /** {@link LossReason#RESIGNED}, {@link LossReason#CLOSED} if the bean was stopped, else why the term was lost. */
    public LossReason reason() {
        return reason;
    }
}
