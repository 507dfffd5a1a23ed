package dev.holdfast.zookeeper;

import dev.holdfast.spi.StoreException;
import java.util.Objects;
import org.apache.zookeeper.KeeperException.Code;
import org.jspecify.annotations.Nullable;

/**
 * The server's answer to one request: a value, or a code that says why there is none.
 *
 * @param about what the request was about, for messages
 */
record Reply<T>(Code code, @Nullable T value, String about) {

    static <T> Reply<T> of(int code, @Nullable T value, String about) {
        return new Reply<>(Code.get(code), value, about);
    }

    boolean isOk() {
        return code == Code.OK;
    }

    boolean isMissing() {
        return code == Code.NONODE;
    }

    StoreException failure() {
        return Failures.of(code, about);
    }

    /** @throws StoreException if there is no value */
    T get() {
        if (!isOk()) {
            throw failure();
        }
        return Objects.requireNonNull(value);
    }
}
