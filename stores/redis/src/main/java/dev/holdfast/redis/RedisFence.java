package dev.holdfast.redis;

import dev.holdfast.redis.client.Script;
import java.nio.charset.StandardCharsets;

/**
 * The checking half of fencing tokens, for data in Redis that a lock protects: a script that runs a writing command on a
 * key unless the key was written with a newer token before. So a holder that was paused beyond its lease cannot
 * overwrite what a later holder has written, whichever store keeps the lock.
 *
 * <p>Any client can call it, and the data may be on another server than the locks:
 *
 * <pre>{@code
 * jedis.eval(RedisFence.script(),
 *         List.of("{account:42}", "{account:42}:token"),
 *         List.of(Long.toString(lease.token()), "SET", "the new value"));
 * }</pre>
 *
 * <ul>
 *   <li>Keys: the key that is written, and a key in the same hash slot that keeps the newest token. That one must not
 *       expire or be evicted; if it is lost, the next token of any age is accepted.
 *   <li>Arguments: the token, the name of the command, and its arguments after the key.
 *   <li>Reply: that of the command. If the key was written with a newer token, an error that begins with
 *       {@code STALETOKEN}, and nothing is changed. Equal tokens are accepted, so that a holder can write several times.
 *       If the command itself fails, its token counts nevertheless.
 * </ul>
 *
 * <p>The check protects only against writes that go through it. It is one request, atomic like any script.
 *
 * @see <a href="https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html">Kleppmann, How to do
 *     distributed locking</a>, which describes why the resource has to check
 */
public final class RedisFence {

    private RedisFence() {}

    /** The text of the script, for {@code EVAL} or {@code SCRIPT LOAD}. */
    public static String script() {
        return new String(Script.FENCE.text(), StandardCharsets.UTF_8);
    }
}
