package dev.holdfast.workload;

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Memory that all workers of one machine share, by a mapped file: a cell for each lock, in which each holder leaves
 * a mark, so that two holders at once are detected; and some cells by which two workers signal their turns.
 * Thread-safe.
 */
public final class Guard {

    /** How many locks can be distinguished. */
    public static final int CELLS = 16_384;

    /** Cells by which workers signal each other. */
    static final int SIGNALS = 20;

    private static final long EXCLUSIVE = 1L << 32;
    private static final VarHandle LONGS = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

    private final MappedByteBuffer memory;

    private Guard(MappedByteBuffer memory) {
        this.memory = memory;
    }

    /** Maps the file, and makes it if it does not exist. */
    public static Guard map(Path file) throws IOException {
        try (FileChannel channel =
                FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            return new Guard(channel.map(FileChannel.MapMode.READ_WRITE, 0, (long) (CELLS + SIGNALS) * Long.BYTES));
        }
    }

    /**
     * Leaves a mark in a lock's cell. Call it when the lock was granted.
     *
     * @return whether another holder is inside
     */
    public boolean enter(int cell, boolean shared) {
        long before = (long) LONGS.getAndAdd(memory, index(cell), shared ? 1L : EXCLUSIVE);
        return shared ? before >= EXCLUSIVE : before != 0;
    }

    /** Removes the mark. Call it before the lock is released. */
    public void leave(int cell, boolean shared) {
        long mark = shared ? 1L : EXCLUSIVE;
        LONGS.getAndAdd(memory, index(cell), -mark);
    }

    /** Empties all cells; nobody may be inside. */
    public void clear() {
        for (int i = 0; i < CELLS + SIGNALS; i++) {
            LONGS.setVolatile(memory, i * Long.BYTES, 0L);
        }
    }

    void signal(int number, long value) {
        LONGS.setVolatile(memory, (CELLS + number) * Long.BYTES, value);
    }

    long signal(int number) {
        return (long) LONGS.getVolatile(memory, (CELLS + number) * Long.BYTES);
    }

    private static int index(int cell) {
        return Math.floorMod(cell, CELLS) * Long.BYTES;
    }
}
