package dev.holdfast.zookeeper.node;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

/** Which children of a parent node show that another library uses it in a way of its own. */
class OtherRecipeTest {

    @Test
    void nodesOfOtherRecipesAreNamed() {
        assertThat(otherUse("locks")).contains("InterProcessSemaphoreV2", "\"locks\"");
        assertThat(otherUse("leases")).contains("InterProcessSemaphoreV2", "\"leases\"");
        assertThat(otherUse("_c_46c8f2a3-8b6f-4a3e-9a67-6b51e1a0bb4e-latch-0000000007"))
                .contains("LeaderLatch");
        assertThat(otherUse("60c8f2a38b6f4a3e9a676b51e1a0bb4e__lock__0000000000"))
                .contains("kazoo");
        assertThat(otherUse("60c8f2a38b6f4a3e9a676b51e1a0bb4e__rlock__0000000001"))
                .contains("kazoo");
    }

    @Test
    void claimsAndNestedParentNodesAreNoOtherRecipe() {
        for (String child : List.of(
                "_c_client.1-lock-0000000001",
                "_c_client.1-__READ__0000000002",
                "_c_client.1-2of5-0000000003",
                "order",
                "order-4711000001",
                "latch",
                "lock-0000000001")) {
            assertThat(otherUse(child)).as(child).isNull();
        }
    }

    private static String otherUse(String child) {
        return AdmissionQueue.of(List.of(child)).otherUse();
    }
}
