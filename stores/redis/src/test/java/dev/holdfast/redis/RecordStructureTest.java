package dev.holdfast.redis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.redis.client.Script;
import dev.holdfast.testkit.Seeds;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Protocol.Command;

/**
 * Random requests of clients, of which some are subscribed and some are not. After each one the fields of the record
 * must agree with each other, as {@code record.lua} describes them. Tickets and leases are long or end at once.
 */
class RecordStructureTest extends WithServer {

    private static final int OPERATIONS = 4_000;
    private static final int CHANNELS = 4;
    private static final int LIMIT = 3;
    private static final int MOST = 20;

    private final Random random = new Random(Seeds.of("record structure"));
    private final Map<Integer, Connection> subscriptions = new HashMap<>();
    private final List<String> present = new ArrayList<>();
    private final Map<String, Integer> met = new TreeMap<>();
    private int claims;

    @Test
    void fieldsOfARecordAgree() {
        String key = "holdfast:{" + name + "}";
        try (Jedis jedis = server.connect()) {
            for (int i = 0; i < OPERATIONS; i++) {
                String what = i + ": " + one(jedis, key);
                check(jedis.hgetAll(key), what);
            }
        }
        subscriptions.values().forEach(Connection::close);
        assertThat(met).containsOnlyKeys("grants", "skipped", "tombs", "waiters");
        assertThat(met.values()).allMatch(times -> times > OPERATIONS / 20);
    }

    private String one(Jedis jedis, String key) {
        int channel = random.nextInt(CHANNELS);
        if (random.nextInt(20) == 0) {
            turn(channel);
        }
        String context = "c" + channel + " " + span() + " 86400000";
        int action = random.nextInt(10);
        if (action < 5 && present.size() < MOST) {
            String id = random.nextInt(10) == 0 ? known() : "c" + channel + "." + claims++;
            Script script = action == 0 ? Script.ACQUIRE : Script.ENQUEUE;
            return run(jedis, script, key, context, id, permits(), "" + LIMIT, span(), flag(), "owner");
        }
        if (action == 5) {
            return run(jedis, Script.INSPECT, key, context);
        }
        if (action != 6) {
            return random.nextInt(4) == 0
                    ? run(jedis, Script.RELEASE, key, context, known(), span(), random.nextBoolean() ? "1" : "0")
                    : run(jedis, Script.RELEASE, key, context, known(), span());
        }
        return run(jedis, Script.RENEW, key, context, known(), permits(), "" + LIMIT, span(), flag(), "owner");
    }

    private static String run(Jedis jedis, Script script, String key, String... arguments) {
        List<String> all = new ArrayList<>(List.of(key));
        all.addAll(List.of(arguments));
        Object reply = jedis.eval(new String(script.text()), 1, all.toArray(new String[0]));
        return all + " -> " + reply;
    }

    // The connection is not read again, because nobody needs the messages.
    private void turn(int channel) {
        Connection open = subscriptions.remove(channel);
        if (open != null) {
            open.close();
            return;
        }
        Connection connection = server.connect().getConnection();
        connection.sendCommand(Command.SUBSCRIBE, "c" + channel);
        connection.getOne();
        subscriptions.put(channel, connection);
    }

    // Of a claim that holds or waits, if there is one.
    private String known() {
        return present.isEmpty() ? "gone." + claims++ : present.get(random.nextInt(present.size()));
    }

    private String permits() {
        return "" + (1 + random.nextInt(LIMIT));
    }

    private String span() {
        return random.nextInt(4) == 0 ? "1" : "60000";
    }

    private String flag() {
        return random.nextInt(4) == 0 ? "1" : "0";
    }

    private void check(Map<String, String> record, String what) {
        Map<String, String> grants = fields(record, "");
        Map<String, String> waiters = fields(record, ">");
        Map<String, String> tombs = fields(record, "!");
        String[] use = record.getOrDefault("use", "0 0 0 0 0").split(" ");
        long permits =
                grants.values().stream().mapToLong(text -> number(text, 1)).sum();
        assertThat(Long.parseLong(use[0])).as("granted, " + what).isEqualTo(permits);
        assertThat(grants.values())
                .as("first end, " + what)
                .allMatch(text -> number(text, 0) >= Long.parseLong(use[2]));
        assertThat(Integer.parseInt(use[3])).as("waiting, " + what).isEqualTo(waiters.size());
        assertThat(tombs.values())
                .as("last tombstone, " + what)
                .allMatch(text -> number(text, 0) <= Long.parseLong(use[4]));
        assertThat(record.getOrDefault("graves", "0")).as("graves, " + what).isEqualTo("" + tombs.size());
        long skipped = checkQueue(record, waiters, what);
        present.clear();
        present.addAll(grants.keySet());
        present.addAll(waiters.keySet());
        Collections.sort(present);
        meet("grants", !grants.isEmpty());
        meet("waiters", waiters.size() > 2);
        meet("skipped", skipped > 0);
        meet("tombs", !tombs.isEmpty());
    }

    private static long checkQueue(Map<String, String> record, Map<String, String> waiters, String what) {
        Map<String, String> places = fields(record, "@");
        assertThat(places.keySet()).as("places, " + what).isEqualTo(waiters.keySet());
        assertThat(record.containsKey("queue")).as("queue, " + what).isEqualTo(!waiters.isEmpty());
        String[] queue = record.getOrDefault("queue", "- - - 0").split(" ");
        List<String> order = new ArrayList<>();
        for (String id = queue[0]; !id.equals("-") && order.size() <= waiters.size(); id = place(places, id)[1]) {
            if (!order.isEmpty()) {
                assertThat(place(places, id)[0])
                        .as("the place before " + id + ", " + what)
                        .isEqualTo(order.get(order.size() - 1));
            }
            order.add(id);
        }
        assertThat(order).as("order, " + what).containsExactlyInAnyOrderElementsOf(waiters.keySet());
        assertThat(queue[1]).as("back, " + what).isEqualTo(order.isEmpty() ? "-" : order.get(order.size() - 1));
        List<String> passed =
                order.stream().filter(id -> place(places, id)[2].equals("1")).toList();
        assertThat(queue[3]).as("skipped, " + what).isEqualTo("" + passed.size());
        order.removeAll(passed);
        assertThat(queue[2]).as("next, " + what).isEqualTo(order.isEmpty() ? "-" : order.get(0));
        return passed.size();
    }

    private void meet(String state, boolean is) {
        if (is) {
            met.merge(state, 1, Integer::sum);
        }
    }

    private static String[] place(Map<String, String> places, String id) {
        return places.get(id).split(" ");
    }

    private static long number(String text, int index) {
        return Long.parseLong(text.split("[ \n]")[index]);
    }

    // The fields with this mark, without it; those of grants have none.
    private static Map<String, String> fields(Map<String, String> record, String mark) {
        Map<String, String> found = new HashMap<>();
        record.forEach((field, text) -> {
            boolean fits = mark.isEmpty() ? field.matches("[^>@!].*\\..*") : field.startsWith(mark);
            if (fits) {
                found.put(field.substring(mark.length()), text);
            }
        });
        return found;
    }
}
