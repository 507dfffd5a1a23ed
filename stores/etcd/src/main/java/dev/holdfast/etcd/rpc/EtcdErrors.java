package dev.holdfast.etcd.rpc;

import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import io.grpc.Status;
import java.net.ConnectException;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.concurrent.CompletionException;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** Translates failed calls: whether a call may have had an effect, whether a repeat may help, and what to do. */
public final class EtcdErrors {

    /** How far the chain of causes is followed. */
    private static final int MAX_CAUSES = 10;

    /** How gRPC describes a call that has waited for a connection and got none. */
    private static final String NOT_CONNECTED = "waiting_for_connection";

    private EtcdErrors() {}

    /** The status of a call that was not answered in time. */
    static Status late(boolean wasConnected, Duration limit) {
        String waited = " for " + limit.toMillis() + " ms";
        return Status.DEADLINE_EXCEEDED.withDescription((wasConnected ? "waiting" : NOT_CONNECTED) + waited);
    }

    /** Whether the lease of the session is gone, so that nothing was written. */
    static boolean isLeaseGone(Status status) {
        return status.getCode() == Status.Code.NOT_FOUND && text(status).contains("lease");
    }

    /** The same for a failure that this class has created. */
    public static boolean isLeaseGone(StoreException failure) {
        Throwable cause = failure.getCause();
        return cause != null && isLeaseGone(Status.fromThrowable(cause));
    }

    /** Whether a failure that this class has created is that the revision which was read is not kept any more. */
    public static boolean isCompacted(StoreException failure) {
        Throwable cause = failure.getCause();
        return cause != null && isCompacted(Status.fromThrowable(cause));
    }

    private static boolean isCompacted(Status status) {
        return status.getCode() == Status.Code.OUT_OF_RANGE && text(status).contains("compacted");
    }

    /**
     * Whether the server does not know the token, or no longer knows it, or has changed its users or roles since it
     * signed the token. A refused request had no effect, and a new token may help.
     */
    static boolean isTokenRefused(Status status) {
        String text = text(status);
        return (status.getCode() == Status.Code.UNAUTHENTICATED && text.contains("token"))
                || text.contains("revision of auth store is old");
    }

    /** Whether the failure is due to this server, so that another one may succeed. */
    static boolean isServerFailure(Status status) {
        return switch (status.getCode()) {
            case UNAVAILABLE, DEADLINE_EXCEEDED, INTERNAL, UNKNOWN -> true;
            default -> false;
        };
    }

    /**
     * Translates a failed call.
     *
     * @param writes whether the call may have changed something
     */
    public static StoreException of(Throwable failure, boolean writes, String where) {
        Throwable cause = failure instanceof CompletionException wrapped && wrapped.getCause() != null
                ? wrapped.getCause()
                : failure;
        if (cause instanceof StoreException ours) {
            return ours;
        }
        Status status = Status.fromThrowable(cause);
        Effect open = writes ? Effect.UNKNOWN : Effect.NONE;
        String said = " (" + where + " said: " + status.getCode() + " " + text(status) + ")";
        if (isLeaseGone(status)) {
            return StoreException.unavailable(
                    Effect.NONE, "The session of this client is over; the next call makes another" + said, cause);
        }
        if (isTokenRefused(status)) {
            // Also after a new log-in: users were changed again, or this server has not learned of the log-in yet.
            return StoreException.unavailable(
                    Effect.NONE, "The token was refused; the next call logs in again" + said, cause);
        }
        if (isCompacted(status)) {
            return StoreException.unavailable(Effect.NONE, "What was read has been compacted meanwhile" + said, cause);
        }
        if (text(status).contains("database space exceeded")) {
            return StoreException.unavailable(
                    Effect.NONE, "etcd is out of space: compact, defragment, disarm the alarm" + said, cause);
        }
        return switch (status.getCode()) {
            case UNAVAILABLE -> unavailable(cause, open, said);
            case DEADLINE_EXCEEDED ->
                // The call was still waiting for a connection, so nothing was sent.
                StoreException.unavailable(
                        text(status).contains(NOT_CONNECTED) ? Effect.NONE : open, "No answer in time" + said, cause);
            case RESOURCE_EXHAUSTED ->
                // Only what the server says about itself is a refusal. This client's own limit for an answer is
                // reported with the same code, after the request was executed.
                text(status).startsWith("etcdserver:")
                        ? StoreException.unavailable(Effect.NONE, "etcd is overloaded" + said, cause)
                        : StoreException.unavailable(
                                open, "A message is too large, or etcd is overloaded" + said, cause);
            case UNAUTHENTICATED, INVALID_ARGUMENT -> refusedLogin(status, said, cause);
            case PERMISSION_DENIED ->
                StoreException.refused("The user may not do this: grant it read and write on the prefix" + said, cause);
            case UNIMPLEMENTED, FAILED_PRECONDITION, OUT_OF_RANGE -> StoreException.refused("Refused" + said, cause);
            default -> StoreException.unavailable(open, "The call failed" + said, cause);
        };
    }

    private static StoreException unavailable(Throwable cause, Effect open, String said) {
        if (caused(cause, ConnectException.class) || caused(cause, UnknownHostException.class)) {
            return StoreException.unavailable(Effect.NONE, "Cannot connect: is the server running?" + said, cause);
        }
        if (caused(cause, SSLException.class)) {
            return StoreException.unavailable(
                    Effect.NONE, "Cannot connect over TLS: check ca, cert, key and the host's name" + said, cause);
        }
        return StoreException.unavailable(open, "etcd is not available" + said, cause);
    }

    private static StoreException refusedLogin(Status status, String said, Throwable cause) {
        String text = text(status);
        if (text.contains("user name is empty")) {
            return StoreException.refused("etcd asks for a user and a password: put them into the URL" + said, cause);
        }
        if (text.contains("authentication failed")) {
            return StoreException.refused("The user or the password is wrong" + said, cause);
        }
        return StoreException.refused("Refused" + said, cause);
    }

    private static boolean caused(@Nullable Throwable failure, Class<? extends Throwable> by) {
        Throwable cause = failure;
        for (int i = 0; cause != null && i < MAX_CAUSES; i++) {
            if (by.isInstance(cause)) {
                return true;
            }
            cause = cause.getCause();
        }
        return false;
    }

    private static String text(Status status) {
        String text = status.getDescription();
        return text == null ? "" : text;
    }
}
