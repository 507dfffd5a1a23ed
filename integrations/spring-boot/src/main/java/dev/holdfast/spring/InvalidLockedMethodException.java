package dev.holdfast.spring;

/** A method with {@link Locked} that cannot be run under its lock as it is written. The application does not start with it. */
public final class InvalidLockedMethodException extends IllegalStateException {

    private static final long serialVersionUID = 1L;

    private final String problem;
    private final String remedy;

    /**
     * @param problem what is wrong, and with which method
     * @param remedy what to do
     */
    public InvalidLockedMethodException(String problem, String remedy) {
        super(problem + ". " + remedy);
        this.problem = problem;
        this.remedy = remedy;
    }

    /** What is wrong, and with which method. */
    public String problem() {
        return problem;
    }

    /** What to do. */
    public String remedy() {
        return remedy;
    }
}
