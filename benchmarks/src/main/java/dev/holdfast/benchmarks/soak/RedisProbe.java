package dev.holdfast.benchmarks.soak;

import java.util.ArrayList;
import java.util.List;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.params.ScanParams;
import redis.clients.jedis.resps.ScanResult;

/** Redis: records of idle locks stay for a while, by their time to live. A key without one, or a subscription, is a leak. */
final class RedisProbe implements Probe {

    /** By this a quorum knows for how long the server has kept its data. */
    private static final String NODE = "holdfast:node";

    private static final String COMMANDS = "total_commands_processed:";
    private static final int KEYS_EACH = 1_000;

    private final List<Integer> ports;

    RedisProbe(List<Integer> ports) {
        this.ports = ports;
    }

    @Override
    public long entries() {
        long all = 0;
        for (int port : ports) {
            try (Jedis jedis = new Jedis("127.0.0.1", port)) {
                all += jedis.dbSize();
            }
        }
        return all;
    }

    /** Commands, those that scripts call included. */
    @Override
    public long requests() {
        long all = 0;
        for (int port : ports) {
            try (Jedis jedis = new Jedis("127.0.0.1", port)) {
                all += jedis.info("stats")
                        .lines()
                        .filter(line -> line.startsWith(COMMANDS))
                        .mapToLong(line -> Long.parseLong(line.substring(COMMANDS.length())))
                        .sum();
            }
        }
        return all;
    }

    @Override
    public List<String> residue() {
        List<String> found = new ArrayList<>();
        for (int port : ports) {
            try (Jedis jedis = new Jedis("127.0.0.1", port)) {
                jedis.pubsubChannels("*").forEach(channel -> found.add("a subscription to " + channel));
                if (jedis.pubsubNumPat() > 0) {
                    found.add(jedis.pubsubNumPat() + " subscriptions by pattern");
                }
                addEternalKeys(jedis, found);
            }
        }
        return found;
    }

    private static void addEternalKeys(Jedis jedis, List<String> found) {
        String cursor = ScanParams.SCAN_POINTER_START;
        do {
            ScanResult<String> some = jedis.scan(cursor, new ScanParams().count(KEYS_EACH));
            for (String key : some.getResult()) {
                // Minus one is for ever; a key that has ended meanwhile has minus two.
                if (!key.equals(NODE) && jedis.pttl(key) == -1) {
                    found.add("the key " + key + " without a time to live");
                }
            }
            cursor = some.getCursor();
        } while (!cursor.equals(ScanParams.SCAN_POINTER_START));
    }
}
