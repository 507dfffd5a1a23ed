package dev.holdfast.zookeeper.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.spi.LockName;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.zookeeper.common.PathUtils;
import org.junit.jupiter.api.Test;

class ZnodePathsTest {

    private final ZnodePaths paths = new ZnodePaths("/locks");

    @Test
    void namesMapOneToOneToPathsThatZooKeeperTakes() {
        List<String> names = List.of(
                "order:42",
                "a/b",
                "a%2Fb",
                "a%b",
                ".",
                "..",
                "...",
                "zookeeper",
                "Zookeeper",
                "/",
                "//",
                "\ud83d\udd12",
                "\uf000",
                "\ufffd",
                "\uffff",
                "n\u00e4me",
                "a b",
                "%7Aookeeper");
        Set<String> parents = new HashSet<>();
        for (String name : names) {
            LockName lock = new LockName(name);
            String parent = paths.parent(lock);
            PathUtils.validatePath(parent);
            assertThat(parents.add(parent)).as(parent).isTrue();
            String child = parent.substring("/locks/".length());
            assertThat(child).doesNotContain("/");
            assertThat(paths.lockOf(child)).contains(lock);
        }
    }

    @Test
    void plainNamesAreAsCuratorsUsersWroteThem() {
        assertThat(paths.parent(new LockName("order:42"))).isEqualTo("/locks/order:42");
        assertThat(new ZnodePaths("/").parent(new LockName("order"))).isEqualTo("/order");
    }

    @Test
    void nodesThatNoNameMapsToAreIgnored() {
        for (String child : List.of("%", "%2", "%zz", "%41", "%2f", "%ff", "zookeeper")) {
            assertThat(paths.lockOf(child)).as(child).isEmpty();
        }
    }

    @Test
    void rootIsCreatedFromTheTopDown() {
        assertThat(new ZnodePaths("/a/b/c").rootAndAbove()).containsExactly("/a", "/a/b", "/a/b/c");
        assertThat(new ZnodePaths("/").rootAndAbove()).isEmpty();
    }
}
