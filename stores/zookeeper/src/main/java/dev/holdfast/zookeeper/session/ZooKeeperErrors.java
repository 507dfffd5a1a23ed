package dev.holdfast.zookeeper.session;

import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeoutException;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;

/** Maps the error codes of ZooKeeper to exceptions that say what a failed request means, and what to do about it. */
public final class ZooKeeperErrors {

    private ZooKeeperErrors() {}

    /** @param subject what the request was about */
    static StoreException of(Code code, String subject) {
        KeeperException cause = KeeperException.create(code, subject);
        String start = "ZooKeeper did not execute a request about \"" + subject + "\" (" + code + "): ";
        return switch (code) {
            case CONNECTIONLOSS ->
                StoreException.unavailable(
                        Effect.UNKNOWN,
                        start + "the connection was lost before the reply arrived; the client reconnects",
                        cause);
            case OPERATIONTIMEOUT, REQUESTTIMEOUT ->
                StoreException.unavailable(Effect.UNKNOWN, start + "the reply did not arrive in time", cause);
            case SESSIONEXPIRED, SESSIONMOVED ->
                StoreException.unavailable(
                        Effect.UNKNOWN,
                        start + "the session has ended; a new one is opened, and claims start over",
                        cause);
            case NOTREADONLY ->
                StoreException.unavailable(
                        Effect.NONE, start + "the server is disconnected from the other servers", cause);
            case THROTTLEDOP -> StoreException.unavailable(Effect.NONE, start + "the server is overloaded", cause);
            case AUTHFAILED -> loginRefused();
            case NOAUTH, INVALIDACL, SESSIONCLOSEDREQUIRESASLAUTH ->
                StoreException.refused(
                        start + "the user may not do this; it needs the rights crdw on the root of the locks and below",
                        cause);
            case QUOTAEXCEEDED -> StoreException.refused(start + "a quota is exceeded; raise it", cause);
            case UNIMPLEMENTED -> StoreException.refused(start + "the server is older than 3.5", cause);
            case NONODE, NOTEMPTY, NODEEXISTS ->
                StoreException.unavailable(
                        Effect.NONE, start + "parent nodes were created or deleted in the meantime", cause);
            case NOCHILDRENFOREPHEMERALS ->
                StoreException.refused(
                        start + "the parent node is an ephemeral node of another program; use another name or root",
                        cause);
            default -> StoreException.unavailable(Effect.UNKNOWN, start + "see the server's log", cause);
        };
    }

    /** Maps the failure of a stage to a {@link StoreException}. */
    public static StoreException of(Throwable failure, String subject) {
        Throwable cause = failure;
        while (cause instanceof CompletionException && cause.getCause() != null) {
            cause = cause.getCause();
        }
        if (cause instanceof StoreException ours) {
            return ours;
        }
        if (cause instanceof TimeoutException) {
            return StoreException.unavailable(
                    Effect.UNKNOWN,
                    "ZooKeeper did not answer a request about \"" + subject
                            + "\" in time; check that a majority of its servers runs, or raise the option timeout",
                    cause);
        }
        if (cause instanceof KeeperException theirs) {
            return of(theirs.code(), subject);
        }
        return unexpected(subject, cause);
    }

    private static StoreException unexpected(String subject, @Nullable Throwable cause) {
        return StoreException.unavailable(
                Effect.UNKNOWN, "A request about \"" + subject + "\" failed: " + cause, cause);
    }

    static StoreException notConnected(Throwable cause) {
        return StoreException.unavailable(
                Effect.NONE,
                "Not sent, because there is no connection to ZooKeeper (" + cause.getMessage()
                        + "): check the hosts of the URL, and that a majority of the servers runs",
                cause);
    }

    static StoreException loginRefused() {
        return StoreException.refused(
                "ZooKeeper refused the login: check the user and the password in the section of the JAAS file that the"
                        + " option sasl names, and that the server knows them",
                null);
    }

    static StoreException closed() {
        return StoreException.unavailable(Effect.NONE, "Not sent: the ZooKeeper store is closed", null);
    }
}
