package dev.holdfast.zookeeper.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.testkit.Seeds;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** A queue that was read for one of its nodes is the same as one in which all nodes were parsed and sorted. */
class NodesBeforeTest {

    private static final int TRIES = 2_000;

    /** What may be among the nodes of a mutex: of Curator, of another kind or recipe, of no lock, overflowed. */
    private static final List<String> OTHERS = List.of(
            "_c_9f8d0b1e-65a1-4f0e-9f5c-3d0f6c1f0b6a-lock-0000000050",
            "lock-0000000051",
            "_c_c.1-2of5-0000000052",
            "_c_c.1-__WRIT__0000000053",
            "_c_c.1-latch-0000000054",
            "_c_c.1-lock-00000000ab",
            "_c_c.1-lock-9999999999",
            "_c_c.1-lock--000000055",
            "_c_c.1-lock--2147483648",
            "lock-",
            "order");

    @Test
    void itIsTheSameQueue() {
        Random random = new Random(Seeds.of("nodes before"));
        for (int i = 0; i < TRIES; i++) {
            List<String> children = new ArrayList<>();
            for (int mutexes = random.nextInt(8); mutexes >= 0; mutexes--) {
                children.add(String.format("_c_c.%d-lock-%010d", mutexes, random.nextInt(20) * 10 + mutexes));
            }
            List<String> others = new ArrayList<>(OTHERS);
            Collections.shuffle(others, random);
            children.addAll(others.subList(0, Math.max(0, random.nextInt(4) - 1)));
            Collections.shuffle(children, random);
            for (String child : children) {
                NodeName own = NodeName.parse(child);
                if (own != null) {
                    assertSame(children, own);
                }
            }
        }
    }

    private static void assertSame(List<String> children, NodeName own) {
        AdmissionQueue all = AdmissionQueue.of(children);
        AdmissionQueue read = AdmissionQueue.of(children, own);
        int index = read.indexOf(own);
        assertThat(index).as("%s in %s", own.text(), children).isEqualTo(all.indexOf(own));
        if (index < 0) {
            // Two nodes have the same sequence, as no server gives it.
            return;
        }
        assertThat(read.limit()).isEqualTo(all.limit());
        assertThat(read.admitted()).isEqualTo(all.admitted());
        assertThat(read.otherUse()).isEqualTo(all.otherUse());
        assertThat(read.isLast(index)).isEqualTo(all.isLast(index));
        assertThat(read.isOfAnotherKind(index)).isEqualTo(all.isOfAnotherKind(index));
        if (!read.isAdmitted(index)) {
            assertThat(read.blocker(index)).isEqualTo(all.blocker(index));
        }
        assertThat(read.entries()).isEqualTo(all.entries());
    }

    @Test
    void nodeThatIsNotThereIsNotFound() {
        NodeName own = Objects.requireNonNull(NodeName.parse("_c_c.7-lock-0000000042"));
        for (List<String> children : List.of(
                List.<String>of(),
                List.of("_c_c.6-lock-0000000041"),
                List.of("_c_c.6-lock-0000000041", "_c_c.8-lock-0000000043"),
                List.of("_c_c.6-lock-0000000042", "_c_c.8-lock-0000000043"))) {
            assertThat(AdmissionQueue.of(children, own).indexOf(own))
                    .as("%s", children)
                    .isEqualTo(-1);
        }
    }
}
