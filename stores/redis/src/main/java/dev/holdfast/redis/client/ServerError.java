package dev.holdfast.redis.client;

import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Translates the server's error messages.
 *
 * <p>Whether a request may have had an effect does not depend on what an error says, but on where it arose. A request
 * that was refused as a whole had none. An error inside a script may come after a write, with a few exceptions: the
 * server refuses for lack of memory, of replicas or of a disk at the first write only, and the scripts read all keys of
 * a name, whose type or text may be foreign, before they write about it.
 */
public final class ServerError {

    /** How servers mark the error of a command inside a script: Redis 7 and newer at its end, older ones before it. */
    private static final Pattern INSIDE_A_SCRIPT =
            Pattern.compile("@user_script|(?i:running script)|in script:| script: [0-9a-f]{40}");

    private static final String RIGHTS =
            "the user may not do this; it needs the rights that the documentation of this store lists, and its keys and"
                    + " channels";

    private static final String DAMAGED =
            "another program has written to the keys of this lock; when it is certain that nobody holds it, remove them, or"
                    + " set another prefix";

    private static final String NO_PASSWORD = "it asks for a password; the URL is redis://[USER]:PASSWORD@HOST";

    private static final String DIVIDED = "its cluster is moving the slot of this key at the moment";

    private static final List<Meaning> MEANINGS = List.of(
            // What our scripts say comes first, because it names keys and their contents, in which any other word may
            // be.
            lasting("HOLDFAST-FOREIGN", DAMAGED).beforeAnyWrite(),
            lasting("HOLDFAST-DAMAGED", DAMAGED),
            lasting("HOLDFAST-32-BIT", "use a 64-bit server").beforeAnyWrite(),
            lasting("HOLDFAST-REDISSON", "layout=redisson shares the locks of RLock only; use another name or prefix")
                    .beforeAnyWrite(),
            lasting(
                            "HOLDFAST-STAMP",
                            "check the option stamp, and what other programs write; use another name or prefix")
                    .beforeAnyWrite(),
            passing("LOADING", "it is reading its data after a start; try again when it is done"),
            passing("MASTERDOWN", "its primary is gone; wait for the fail-over"),
            passing("READONLY", "it is a replica, perhaps since a fail-over; the URL must lead to the primary")
                    .beforeAnyWrite(),
            passing("OOM", "it is out of memory; raise maxmemory or remove data")
                    .beforeAnyWrite(),
            passing("MISCONF", "it cannot save its data and refuses writes; look at its log and its disk")
                    .beforeAnyWrite(),
            passing("NOREPLICAS", "it has fewer replicas than min-replicas-to-write asks for")
                    .beforeAnyWrite(),
            passing("BUSY", "a script of another client keeps it busy; see SCRIPT KILL"),
            passing("CLUSTERDOWN", "its cluster is not complete"),
            passing("TRYAGAIN", DIVIDED),
            passing("max number of clients", "it has as many clients as maxclients allows; raise it"),
            passing("NOSCRIPT", "it has forgotten a script that was sent a moment ago"),
            lasting("NOAUTH", NO_PASSWORD),
            // A request with many arguments is not even read before a login.
            lasting("unauthenticated", NO_PASSWORD),
            lasting("WRONGPASS", "user or password is wrong"),
            lasting("invalid password", "the password is wrong"),
            lasting("without any password configured", "it asks for no password; take it out of the URL"),
            lasting("NOPERM", RIGHTS),
            lasting("ACL failure", RIGHTS),
            lasting("The user executing the script can't", RIGHTS),
            lasting("WRONGTYPE", "a key is of another type, so somebody else wrote it; remove it or set another prefix")
                    .beforeAnyWrite(),
            lasting("MOVED", "it is a node of a cluster; add cluster=true to the options"),
            lasting("ASK", "it is a node of a cluster; add cluster=true to the options"),
            lasting("CROSSSLOT", "it is a node of a cluster; add cluster=true to the options"),
            lasting(
                    "cluster support disabled",
                    "it is no node of a cluster; leave out cluster=true, and name one host"),
            lasting(
                    "bad lua script for redis cluster",
                    "it checks the text of scripts, which name keys by variables here; set its parameter script_check_enable"
                            + " to 0, as each script declares all of its keys"),
            lasting("DB index is out of range", "it has no database of this number"),
            lasting(
                    "unknown command",
                    "it is older than Redis 5 (than Redis 7, if it is a cluster's and Lettuce asks), or the command is"
                            + " renamed or disabled"),
            lasting(
                    "Unknown Redis command called from",
                    "a command that the scripts need is renamed or disabled, or the server is older than Redis 5"),
            // What Lua says of a value that it cannot use.
            lasting("attempt to", DAMAGED));

    private ServerError() {}

    /**
     * An error by which a server can be recognised to have a certain trouble.
     *
     * @param retryable whether the trouble may pass
     * @param writesNothing whether it ends a script before its first write, if it arises inside of one
     */
    private record Meaning(Pattern pattern, boolean retryable, boolean writesNothing, String remedy) {

        private boolean fits(String message) {
            return pattern.matcher(message).find();
        }

        private Meaning beforeAnyWrite() {
            return new Meaning(pattern, retryable, true, remedy);
        }
    }

    /**
     * Translates an error of the server into an exception.
     *
     * @param message the text of the error
     * @param subject what the request was about
     */
    public static StoreException of(String message, Object subject, @Nullable Throwable cause) {
        return of(message, INSIDE_A_SCRIPT.matcher(message).find(), subject, cause);
    }

    /** Translates an error that a script has caught and returned as a part of its reply. */
    public static StoreException returned(String message, Object subject) {
        return of(message, true, subject, null);
    }

    private static StoreException of(String message, boolean inside, Object subject, @Nullable Throwable cause) {
        for (Meaning meaning : MEANINGS) {
            if (meaning.fits(message)) {
                String text = text(message, subject) + ": " + meaning.remedy();
                if (inside && !meaning.writesNothing()) {
                    return StoreException.unavailable(Effect.UNKNOWN, text, cause);
                }
                return meaning.retryable()
                        ? StoreException.unavailable(Effect.NONE, text, cause)
                        : StoreException.refused(text, cause);
            }
        }
        // Nothing is known of this error. The engine releases a claim whose state it does not know.
        return StoreException.unavailable(Effect.UNKNOWN, text(message, subject), cause);
    }

    /** Whether the server closes the connection after this error. */
    public static boolean endsConnection(String message) {
        return message.contains("Protocol error");
    }

    /** Whether a request was refused because its keys are at two nodes, as their slot is being moved. */
    public static boolean isDivided(StoreException failure) {
        // The remedy is at the end. Before it is the name of the lock, which may contain the server's word.
        return failure.effect() == Effect.NONE
                && failure.getMessage() != null
                && failure.getMessage().endsWith(DIVIDED);
    }

    /** Whether this is the error of a replica, so that a new connection may lead to the primary. */
    public static boolean isOfReplica(String message) {
        return message.contains("READONLY") || message.contains("MASTERDOWN");
    }

    private static String text(String message, Object subject) {
        return "The server refused a request about \"" + subject + "\" (" + message + ")";
    }

    // An older server wraps the error of a command inside a script: "... @user_script: 7: -OOM command not allowed
    // ...".
    private static Meaning meaning(String code, boolean retryable, String remedy) {
        return new Meaning(Pattern.compile("(^|[ -])" + Pattern.quote(code) + "\\b"), retryable, false, remedy);
    }

    private static Meaning passing(String code, String remedy) {
        return meaning(code, true, remedy);
    }

    private static Meaning lasting(String code, String remedy) {
        return meaning(code, false, remedy);
    }
}
