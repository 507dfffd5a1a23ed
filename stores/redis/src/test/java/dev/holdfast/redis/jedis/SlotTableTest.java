package dev.holdfast.redis.jedis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import dev.holdfast.store.ServerAddress;
import dev.holdfast.testkit.ManualClock;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.util.KeyValue;

/** Tables of slots in which nodes have no address, as a node may answer that has not met the others, or has lost one. */
class SlotTableTest {

    private static final ServerAddress ASKED = new ServerAddress("asked", 7000);

    private final ManualClock clock = new ManualClock();
    private final List<Object> ranges = new ArrayList<>();
    private final SlotTable table = new SlotTable(List.of(ASKED), new Nodes(), Duration.ofSeconds(1), clock);

    /** Each node gives the same answer. */
    private final class Nodes implements SlotTable.NodeConnections {

        @Override
        public Connection open(ServerAddress node) {
            return new Connection() {
                @Override
                public Object executeCommand(CommandArguments arguments) {
                    return ranges;
                }
            };
        }

        @Override
        public void ended(ServerAddress node, Connection connection) {}
    }

    private void range(long first, long last, Object... nodes) {
        ranges.add(Stream.concat(Stream.of(first, last), Arrays.stream(nodes)).toList());
    }

    private static byte[] text(String text) {
        return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
    }

    private static List<Object> node(String host, Object port, Object... more) {
        return Arrays.asList(text(host), port, text("id"), List.of(more));
    }

    @Test
    void hostThatIsLeftOutIsTheOneThatWasAsked() {
        range(0, 1, node(null, 7001L));
        range(2, 3, node("", 7002L));
        range(4, 5, List.of(text("host"), 7003L));
        assertThat(table.ownerOf(0)).isEqualTo(new ServerAddress("asked", 7001));
        assertThat(table.ownerOf(3)).isEqualTo(new ServerAddress("asked", 7002));
        assertThat(table.ownerOf(5)).isEqualTo(new ServerAddress("host", 7003));
        assertThat(table.oneOfEach()).containsExactly(0, 2, 4);
    }

    /** Nodes that should be named by their hosts, and have none. Their addresses may be given besides. */
    @Test
    void hostThatIsNotKnownIsNotTheOneThatWasAsked() {
        range(0, 0, node("?", 7001L, text("hostname"), text(""), text("ip"), text("10.0.0.1")));
        range(1, 1, node("?", 7001L, new KeyValue<>(text("ip"), text("10.0.0.2"))));
        range(2, 2, node("?", 7001L));
        range(3, 3, node("?", 7001L, text("ip"), text("")), node("replica", 7009L));
        range(4, 4, List.of(text("?"), 7001L));
        assertThat(table.ownerOf(0)).isEqualTo(new ServerAddress("10.0.0.1", 7001));
        assertThat(table.ownerOf(1)).isEqualTo(new ServerAddress("10.0.0.2", 7001));
        for (int slot = 2; slot < 5; slot++) {
            assertNobodyServes(slot);
        }
        assertThat(table.serving()).hasSize(2);
    }

    @Test
    void nodeWithoutAnAddressIsLeftOut() {
        range(0, 0, node("", 0L), node("replica", 7002L));
        range(1, 1, node("gone", 70_000L));
        range(2, 2, node("gone", -1L));
        range(3, 3, node("gone", null));
        range(4, 4, List.of());
        range(5, 5, Arrays.asList((Object) null));
        range(6, 6);
        range(7, 7, node("host", 7003L), List.of(), node("?", 7004L), node("", 0L));
        assertThat(table.ownerOf(7)).isEqualTo(new ServerAddress("host", 7003));
        for (int slot = 0; slot < 7; slot++) {
            assertNobodyServes(slot);
        }
        assertThat(table.oneOfEach()).containsExactly(7);
    }

    private static final ServerAddress OLD = new ServerAddress("old", 7000);
    private static final ServerAddress REPLICA = new ServerAddress("replica", 7000);
    private static final ServerAddress OTHER = new ServerAddress("other", 7000);

    /** Nodes with answers of their own; one without an answer is silent. Adds whoever is asked to a list. */
    private SlotTable tableOf(Map<ServerAddress, List<Object>> answers, List<ServerAddress> asked) {
        SlotTable.NodeConnections nodes = new SlotTable.NodeConnections() {
            @Override
            public Connection open(ServerAddress node) {
                asked.add(node);
                if (!answers.containsKey(node)) {
                    throw StoreException.unavailable(Effect.NONE, node + " is silent", null);
                }
                return new Connection() {
                    @Override
                    public Object executeCommand(CommandArguments arguments) {
                        return answers.get(node);
                    }
                };
            }

            @Override
            public void ended(ServerAddress node, Connection connection) {}
        };
        return new SlotTable(List.of(OLD, REPLICA, OTHER), nodes, Duration.ofSeconds(1), clock);
    }

    private static List<Object> twoRanges(ServerAddress first, ServerAddress firstReplica) {
        return List.of(
                List.of(0L, 8_000L, node(first.host(), 7000L), node(firstReplica.host(), 7000L)),
                List.of(8_001L, 16_383L, node(OTHER.host(), 7000L)));
    }

    /** Before, it was asked again and again, and named itself, while the others had another primary. */
    @Test
    void primaryThatIsCutOffIsNotAskedWhoServesItsSlots() {
        Map<ServerAddress, List<Object>> answers = new HashMap<>();
        answers.put(OLD, twoRanges(OLD, REPLICA));
        answers.put(OTHER, twoRanges(REPLICA, OLD));
        SlotTable cutOff = tableOf(answers, new ArrayList<>());
        assertThat(cutOff.ownerOf(0)).isEqualTo(OLD);
        clock.advance(Duration.ofSeconds(1));
        cutOff.suspect(OLD);
        assertThat(cutOff.ownerOf(0)).isEqualTo(REPLICA);
    }

    /** Before, each call to a silent primary made the calls to all others wait until it had been asked for the table, too. */
    @Test
    void silentPrimaryIsNotAskedAsLongAsAnotherOneAnswers() {
        Map<ServerAddress, List<Object>> answers = new HashMap<>();
        for (ServerAddress node : List.of(OLD, REPLICA, OTHER)) {
            answers.put(node, twoRanges(OLD, REPLICA));
        }
        List<ServerAddress> asked = new ArrayList<>();
        SlotTable silent = tableOf(answers, asked);
        silent.refresh();
        answers.remove(OLD);
        asked.clear();
        for (int i = 0; i < 3; i++) {
            clock.advance(Duration.ofSeconds(1));
            silent.suspect(OLD);
            assertThat(silent.ownerOf(16_383)).isEqualTo(OTHER);
            silent.answered(OTHER);
        }
        assertThat(asked).isNotEmpty().doesNotContain(OLD);
    }

    /** A node that answers may be cut off together with the one that fails. */
    @Test
    void afterAFailureAnotherNodeIsAskedThanTheLastTime() {
        Map<ServerAddress, List<Object>> answers = new HashMap<>();
        answers.put(OTHER, twoRanges(OLD, REPLICA));
        List<ServerAddress> asked = new ArrayList<>();
        SlotTable cutOff = tableOf(answers, asked);
        assertThat(cutOff.ownerOf(0)).isEqualTo(OLD);
        answers.put(REPLICA, twoRanges(REPLICA, OLD));
        clock.advance(Duration.ofSeconds(1));
        cutOff.answered(REPLICA);
        cutOff.suspect(OLD);
        assertThat(cutOff.ownerOf(0)).isEqualTo(REPLICA);
    }

    private void assertNobodyServes(int slot) {
        assertThatThrownBy(() -> table.ownerOf(slot)).isInstanceOfSatisfying(StoreException.class, failure -> {
            assertThat(failure.effect()).isEqualTo(Effect.NONE);
            assertThat(failure.retryable()).isTrue();
        });
    }

    /** A redirection names a port only. */
    @Test
    void redirectionWithoutAHostLeadsToTheNodeWithThisPort() {
        range(0, 1, node("a", 7001L), node("b", 7001L));
        range(2, 3, node("c", 7002L));
        table.refresh();
        assertThat(table.withoutHost(0, 7002, true)).isEqualTo(new ServerAddress("c", 7002));
        assertThat(table.withoutHost(0, 7001, false)).isEqualTo(new ServerAddress("a", 7001));
        for (boolean once : new boolean[] {true, false}) {
            assertThatThrownBy(() -> table.withoutHost(2, 7001, once))
                    .isInstanceOf(StoreException.class)
                    .hasMessageContaining("7001")
                    .hasMessageContaining("cluster-announce-hostname");
        }
    }
}
