package dev.holdfast.redis;

/** One call of a script: what it is about, and with which arguments. */
public final class ScriptCall {

    private final Script script;
    private final int keys;
    private final byte[][] arguments;

    /**
     * @param script the script
     * @param keys how many of the arguments are keys; they come first, and share a hash slot unless the script says otherwise
     * @param arguments keys and arguments; not to be changed afterwards
     */
    ScriptCall(Script script, int keys, byte[][] arguments) {
        this.script = script;
        this.keys = keys;
        this.arguments = arguments;
    }

    public Script script() {
        return script;
    }

    /** How many of the arguments are keys. */
    public int keys() {
        return keys;
    }

    /** The keys, and then the other arguments. Not to be changed. */
    public byte[][] arguments() {
        return arguments;
    }
}
