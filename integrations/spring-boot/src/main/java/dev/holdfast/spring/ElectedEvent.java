package dev.holdfast.spring;

import dev.holdfast.election.Term;
import org.springframework.context.ApplicationEvent;

/**
 * This application was elected, and leads. It is published on a thread of the client, one event of an election after the other: the
 * loss of the term is not published before the listeners of this event have returned. A listener that works for as long as it leads
 * must look at {@link Term#isValid()}.
 */
public final class ElectedEvent extends ApplicationEvent {

    private static final long serialVersionUID = 1L;

    private final transient Term term;

    /**
     * @param election the candidate that was elected
     * @param term its term
     */
    public ElectedEvent(ElectionBean election, Term term) {
        super(election);
        this.term = term;
    }

    /** The candidate that was elected. */
    public ElectionBean election() {
        return (ElectionBean) getSource();
    }

    /** What is led; for the conditions of listeners: {@code #event.name == 'billing'}. */
    public String getName() {
        return election().name();
    }

    /** The term, with its fencing token. */
    public Term term() {
        return term;
    }
}
