package dev.holdfast.zookeeper.session;

import dev.holdfast.spi.StoreException;
import java.util.Objects;
import java.util.function.Function;
import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;

/**
 * The server's reply to one request: a value, or an error code.
 *
 * @param about what the request was about, for messages
 */
public record Reply<T>(Code code, @Nullable T value, String about) {

    public static <T> Reply<T> of(int code, @Nullable T value, String about) {
        return new Reply<>(code == 0 ? Code.OK : Code.get(code), value, about);
    }

    public boolean isOk() {
        return code == Code.OK;
    }

    public boolean isMissing() {
        return code == Code.NONODE;
    }

    /** The same reply with what is made of its value, if it has one. */
    public <R> Reply<R> map(Function<T, R> change) {
        return new Reply<>(code, value == null ? null : change.apply(value), about);
    }

    public StoreException failure() {
        return ZooKeeperErrors.of(code, about);
    }

    /**
     * The value of the reply.
     *
     * @throws StoreException if there is no value
     */
    public T get() {
        if (!isOk()) {
            throw failure();
        }
        return Objects.requireNonNull(value);
    }
}
