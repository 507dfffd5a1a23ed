package dev.holdfast.redis.lettuce;

import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.CommandOutput;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The reply of a script: a {@link Long}, a {@code byte[]}, a list of replies, or null.
 *
 * <p>Lettuce goes on reading when one of these methods throws an Exception, but an Error stops it in the midst of a reply,
 * and it would take the rest for the answers to later commands. So a reply that there is no memory for becomes a failure.
 */
final class ReplyOutput extends CommandOutput<byte[], byte[], @Nullable Object> {

    private static final String NO_MEMORY = "The client has no memory for the reply";

    /** The lists that are not complete yet, the innermost first. */
    private final Deque<List<@Nullable Object>> open = new ArrayDeque<>();

    /** How many elements each of these lists will have. */
    private final Deque<Integer> lengths = new ArrayDeque<>();

    ReplyOutput() {
        super(ByteArrayCodec.INSTANCE, null);
    }

    @Override
    public void set(@Nullable ByteBuffer bytes) {
        try {
            put(bytes == null ? null : codec.decodeValue(bytes));
            endFull();
        } catch (OutOfMemoryError unread) {
            setError(NO_MEMORY);
        }
    }

    @Override
    public void set(long integer) {
        try {
            put(integer);
            endFull();
        } catch (OutOfMemoryError unread) {
            setError(NO_MEMORY);
        }
    }

    @Override
    public void multi(int count) {
        try {
            List<@Nullable Object> list = new ArrayList<>(Math.max(0, count));
            put(count < 0 ? null : list);
            if (count > 0) {
                open.push(list);
                lengths.push(count);
            } else {
                endFull();
            }
        } catch (OutOfMemoryError unread) {
            setError(NO_MEMORY);
        }
    }

    private void put(@Nullable Object reply) {
        if (open.isEmpty()) {
            output = reply;
        } else {
            open.element().add(reply);
        }
    }

    private void endFull() {
        while (!open.isEmpty() && open.element().size() >= lengths.element()) {
            open.pop();
            lengths.pop();
        }
    }
}
