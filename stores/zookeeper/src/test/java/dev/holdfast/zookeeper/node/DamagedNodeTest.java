package dev.holdfast.zookeeper.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.OwnerInfo;
import dev.holdfast.testkit.Seeds;
import dev.holdfast.testkit.fault.Damage;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Names of nodes that no program of ours makes, and data of nodes that somebody has changed. */
class DamagedNodeTest {

    private static final int TRIES = 2_000;
    private static final LockName NAME = new LockName("a name");
    private static final Duration LEASE = Duration.ofSeconds(30);
    private static final List<Claim> CLAIMS = List.of(
            claim(1, 1),
            claim(1, Claim.ALL),
            claim(7, Claim.ALL),
            claim(Claim.ALL, Claim.ALL),
            claim(2, 5),
            claim(1, 0));

    private static Claim claim(int permits, int limit) {
        OwnerInfo owner = new OwnerInfo("a_c", "host", 7, "a thread", "", List.of("held"));
        return new Claim(NAME, new ClaimId("a_c", 9), permits, limit, LEASE, owner);
    }

    /** A name is no node of a lock, or it is one that has permits as a claim can have them. */
    @ParameterizedTest
    @EnumSource
    void damagedNameIsNoClaimOrOneThatCanBe(Damage damage) {
        Random random = new Random(Seeds.of("damaged name " + damage));
        for (int i = 0; i < TRIES; i++) {
            String name = NodeName.prefix(CLAIMS.get(i % CLAIMS.size())) + "0000000042";
            assertCanBe(
                    new String(damage.of(name.getBytes(StandardCharsets.UTF_8), random), StandardCharsets.ISO_8859_1));
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "_c_a.1-0of5-0000000001",
                "_c_a.1-9of5-0000000001",
                "_c_a.1-1of99999999-0000000001",
                "_c_a.1+0-__READ__0000000001",
                "_c_a.1+-7-__READ__0000000001",
                "_c_a.1+99999999-__READ__0000000001",
                "_c_a.1+7-lock-0000000001"
            })
    void permitsThatCannotBeDoNotHoldBesideOthers(String name) {
        assertCanBe(name);
        assertThat(AdmissionQueue.of(List.of(name)).admits(claim(1, 1))).isFalse();
        assertThat(AdmissionQueue.of(List.of(name)).admits(claim(5, 5))).isFalse();
        assertThat(AdmissionQueue.of(List.of(name)).admits(claim(Claim.ALL, Claim.ALL)))
                .isFalse();
    }

    private static void assertCanBe(String name) {
        NodeName node = NodeName.parse(name);
        if (node != null) {
            assertThatCode(() -> new Claim(NAME, node.id(), node.permits(), node.limit(), LEASE, OwnerInfo.of("a")))
                    .as(name)
                    .doesNotThrowAnyException();
        }
    }

    /** It is for people only: it is left out, or shown. */
    @ParameterizedTest
    @EnumSource
    void damagedDataIsShownOrLeftOut(Damage damage) {
        Random random = new Random(Seeds.of("damaged data " + damage));
        byte[] data = NodeData.of(CLAIMS.get(0)).bytes();
        for (int i = 0; i < TRIES; i++) {
            String text = new String(damage.of(data, random), StandardCharsets.UTF_8);
            NodeData.parse(text).ifPresent(read -> Claim.checkLease(read.lease()));
        }
    }
}
