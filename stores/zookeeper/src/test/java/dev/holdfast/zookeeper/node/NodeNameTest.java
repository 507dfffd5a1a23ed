package dev.holdfast.zookeeper.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.OwnerInfo;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class NodeNameTest {

    private static final Duration LEASE = Duration.ofSeconds(30);

    @Test
    void namesAreReadAsTheyWereWritten() {
        for (String client : List.of("abc", "a_b-c", "_c_x-lock-__READ__", "x".repeat(64), "__WRIT__")) {
            for (int[] kind :
                    new int[][] {{1, 1}, {1, Claim.ALL}, {Claim.ALL, Claim.ALL}, {7, Claim.ALL}, {2, 5}, {1, 0}}) {
                ClaimId id = new ClaimId(client, 4711);
                Claim claim = new Claim(new LockName("n"), id, kind[0], kind[1], LEASE, OwnerInfo.of(client));
                NodeName node = Objects.requireNonNull(NodeName.parse(NodeName.prefix(claim) + "0000000042"));
                assertThat(node.id()).isEqualTo(id);
                assertThat(node.permits()).isEqualTo(kind[0]);
                assertThat(node.limit()).isEqualTo(kind[1]);
                assertThat(node.sequence()).isEqualTo(42);
                assertThat(node.foreign()).isFalse();
                // Whoever has created it knows as much as whoever reads it.
                assertThat(NodeName.created(claim, NodeName.prefix(claim), node.text()))
                        .isEqualTo(node);
            }
        }
    }

    @Test
    void namesThatWereNotCreatedForAClaimAreNotTakenForItsOwn() {
        Claim claim = new Claim(new LockName("n"), new ClaimId("a", 1), 1, 1, LEASE, OwnerInfo.of("a"));
        String prefix = NodeName.prefix(claim);
        for (String other : List.of(prefix, prefix + "42", prefix + "00000000ab", "x" + prefix + "0000000042")) {
            assertThat(NodeName.created(claim, prefix, other)).as(other).isNull();
        }
    }

    @Test
    void namesOfCuratorAreRead() {
        NodeName mutex = NodeName.parse("_c_9f8d0b1e-65a1-4f0e-9f5c-3d0f6c1f0b6a-lock-0000000007");
        assertThat(mutex.limit()).isEqualTo(1);
        assertThat(mutex.foreign()).isTrue();
        assertThat(mutex.id()).isEqualTo(new ClaimId("9f8d0b1e-65a1-4f0e-9f5c-3d0f6c1f0b6a", 7));
        NodeName read = NodeName.parse("_c_9f8d0b1e-65a1-4f0e-9f5c-3d0f6c1f0b6a-__READ__0000000001");
        assertThat(read.isExclusive()).isFalse();
        assertThat(read.isForPermits()).isFalse();
        assertThat(NodeName.parse("_c_9f8d0b1e-65a1-4f0e-9f5c-3d0f6c1f0b6a-__WRIT__0000000001")
                        .isExclusive())
                .isTrue();
        assertThat(NodeName.parse("lock-0000000001").limit()).isEqualTo(1);
    }

    @Test
    void otherNodesAreIgnored() {
        for (String other :
                List.of("0", "zz", "lock-", "lock-1", "lock-00000000ab", "leases", "_c_x-lease-0000000001")) {
            assertThat(NodeName.parse(other)).as(other).isNull();
        }
    }

    @Test
    void smallerGrantKeepsItsSequence() {
        for (String sequence : List.of("0000000042", "-2147483648", "-000000017")) {
            NodeName write = NodeName.parse("_c_a.1-__WRIT__" + sequence);
            assertThat(write.resized(1).text()).isEqualTo("_c_a.1-__READ__" + sequence);
            assertThat(write.resized(9).text()).isEqualTo("_c_a.1+9-__READ__" + sequence);
            NodeName permits = NodeName.parse("_c_a.1-3of5-" + sequence);
            assertThat(permits.resized(2).text()).isEqualTo("_c_a.1-2of5-" + sequence);
            assertThat(NodeName.parse(permits.resized(2).text())).isEqualTo(permits.resized(2));
        }
    }

    @Test
    void asManyHoldAsFit() {
        AdmissionQueue queue = AdmissionQueue.of(List.of(
                "_c_d.1-2of5-0000000004",
                "_c_a.1-2of5-0000000001",
                "_c_c.1-2of5-0000000003",
                "_c_b.1-2of5-0000000002"));
        assertThat(queue.entries()).extracting(node -> node.id().client()).containsExactly("a", "b", "c", "d");
        assertThat(queue.admitted()).isEqualTo(2);
        AdmissionQueue readWrite = AdmissionQueue.of(List.of(
                "_c_r.1-__READ__0000000001",
                "_c_s.1-__READ__0000000002",
                "_c_w.1-__WRIT__0000000003",
                "_c_t.1-__READ__0000000004"));
        assertThat(readWrite.admitted()).isEqualTo(2);
    }

    @Test
    void nodeOfAnotherKindBlocksTheNodesBehindIt() {
        AdmissionQueue queue = AdmissionQueue.of(
                List.of("_c_a.1-1of3-0000000001", "_c_b.1-lock-0000000002", "_c_c.1-1of3-0000000003"));
        assertThat(queue.admitted()).isEqualTo(1);
        assertThat(queue.isOfAnotherKind(1)).isTrue();
        assertThat(queue.isOfAnotherKind(2)).isFalse();
    }
}
