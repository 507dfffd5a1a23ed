package dev.holdfast.redis.lettuce;

import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.CommandOutput;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The reply of a script: a {@link Long}, a {@code byte[]}, a list of replies, or null. */
final class ReplyOutput extends CommandOutput<byte[], byte[], @Nullable Object> {

    /** The lists that are not complete yet, the innermost first. */
    private final Deque<List<@Nullable Object>> open = new ArrayDeque<>();

    /** How many elements each of these lists will have. */
    private final Deque<Integer> lengths = new ArrayDeque<>();

    ReplyOutput() {
        super(ByteArrayCodec.INSTANCE, null);
    }

    @Override
    public void set(@Nullable ByteBuffer bytes) {
        put(bytes == null ? null : codec.decodeValue(bytes));
        endFull();
    }

    @Override
    public void set(long integer) {
        put(integer);
        endFull();
    }

    @Override
    public void multi(int count) {
        List<@Nullable Object> list = new ArrayList<>(Math.max(0, count));
        put(count < 0 ? null : list);
        if (count > 0) {
            open.push(list);
            lengths.push(count);
        } else {
            endFull();
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
