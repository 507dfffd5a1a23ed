package dev.holdfast.redis;

import java.time.Duration;
import java.util.Objects;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Jedis;

/**
 * A program that locks as it was usual before {@code SET NX PX}: {@code SETNX} with the time at which the lock is over, by
 * the program's own clock; a time that is past is taken over with {@code GETSET}, which must return what was read; and a
 * bare {@code DEL} if the time is not past yet.
 */
final class TimestampProgram implements AutoCloseable {

    private final Jedis jedis;
    private final String key;
    private final Duration ttl;
    private final LongFunction<String> form;
    private final long unitMillis;
    private long aheadMillis;
    private long ends;
    private @Nullable String read;

    TimestampProgram(String url, String key, Duration ttl) {
        this(url, key, ttl, 1, Long::toString);
    }

    /**
     * @param unitMillis the milliseconds of a unit of the time stamp
     * @param form makes the stamp
     */
    TimestampProgram(String url, String key, Duration ttl, long unitMillis, LongFunction<String> form) {
        this.jedis = new Jedis(url);
        this.key = key;
        this.ttl = ttl;
        this.unitMillis = unitMillis;
        this.form = form;
    }

    /** Sets this program's clock ahead. */
    void setAhead(Duration time) {
        aheadMillis = time.toMillis();
    }

    boolean tryLock() {
        return tryFirst() || (readsOneThatIsPast() && takesOver());
    }

    private boolean tryFirst() {
        return jedis.setnx(key, stamp()) == 1;
    }

    /** The first step of taking over. */
    boolean readsOneThatIsPast() {
        read = jedis.get(key);
        return read != null && Long.parseLong(read.split("\\|", -1)[0]) < now();
    }

    /** The second step of taking over. */
    boolean takesOver() {
        return Objects.equals(jedis.getSet(key, stamp()), read);
    }

    void unlock() {
        if (now() < ends) {
            jedis.del(key);
        }
    }

    private String stamp() {
        ends = now() + ttl.toMillis() / unitMillis + 1;
        return form.apply(ends);
    }

    private long now() {
        return (System.currentTimeMillis() + aheadMillis) / unitMillis;
    }

    @Override
    public void close() {
        jedis.close();
    }
}
