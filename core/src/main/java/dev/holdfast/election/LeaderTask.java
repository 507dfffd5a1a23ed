package dev.holdfast.election;

/** What only the leader does. See {@link Election#run}. */
@FunctionalInterface
public interface LeaderTask {

    /**
     * Does the leader's work. The thread is interrupted when the term ends; the task should then stop as soon as it can,
     * because another leader may be elected already.
     *
     * @param term the term in which the task runs
     */
    void lead(Term term) throws InterruptedException;
}
