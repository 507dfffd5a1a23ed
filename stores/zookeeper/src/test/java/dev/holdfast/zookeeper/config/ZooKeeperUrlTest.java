package dev.holdfast.zookeeper.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.holdfast.Holdfast;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.StoreException;
import dev.holdfast.testkit.process.Ports;
import dev.holdfast.zookeeper.Proxy;
import dev.holdfast.zookeeper.WithServer;
import dev.holdfast.zookeeper.ZooKeeperLockStore;
import dev.holdfast.zookeeper.ZooKeeperLockStoreProvider;
import java.time.Duration;
import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.KeeperException;
import org.assertj.core.util.Throwables;
import org.junit.jupiter.api.Test;

/** URLs and options, their effect on a real server, and the messages with which wrong ones are refused. */
class ZooKeeperUrlTest extends WithServer {

    @Test
    void partsAreRead() {
        ZooKeeperUrl url =
                ZooKeeperUrl.parse("zookeeper://a,b:2182,[::1]:2183/app/locks?sessionTimeout=30s&timeout=2s");
        assertThat(url.hosts()).isEqualTo("a:2181,b:2182,[::1]:2183");
        assertThat(url.root()).isEqualTo("/app/locks");
        assertThat(url.options().sessionTimeout()).isEqualTo(Duration.ofSeconds(30));
        assertThat(url.options().timeout()).isEqualTo(Duration.ofSeconds(2));
        assertThat(url).hasToString("zookeeper://a:2181,b:2182,[::1]:2183/app/locks");
        assertThat(ZooKeeperUrl.parse("zookeeper://a").root()).isEqualTo("/holdfast");
        assertThat(ZooKeeperUrl.parse("zookeeper://me:p%40ss@a").login()).isEqualTo("me:p@ss");
    }

    @Test
    void wrongUrlsAreRefusedWithTheReason() {
        refused("zookeeper://", "zookeeper://[USER:PASSWORD@]HOST");
        refused("zookeeper://a b", "zookeeper://[USER:PASSWORD@]HOST");
        refused("zookeeper://a:0", "port");
        refused("zookeeper://a:99999", "port");
        refused("zookeeper://me@a", "USER:PASSWORD");
        refused("zookeeper://m%3Ae:secret@a", "USER:PASSWORD");
        refused("zookeeper://a/x//y", "root of the locks");
        refused("zookeeper://a/zookeeper/x", "/zookeeper");
        refused("zookeeper://a?lease=3s", "\"lease\"", "sessionTimeout");
        refused("zookeeper://a?root=/x", "\"root\"");
        refused("zookeeper://a?sessionTimeout=3", "sessionTimeout", "500ms");
        refused("zookeeper://a?sessionTimeout=10ms", "sessionTimeout");
        refused("zookeeper://a?timeout=10m", "timeout");
        refused("zookeeper://a?timeout=1s&timeout=2s", "twice");
        refused("zookeeper://a?timeout", "NAME=VALUE");
        refused("zookeeper://a?acl=mine", "acl");
        refused("zookeeper://a?tls=yes", "tls");
        refused("zookeeper://a?trustStore=x.p12", "tls=true");
        refused("zookeeper://me:1/x//y@a", "zookeeper://***@a");
    }

    @Test
    void passwordsAreNotShown() {
        assertThatThrownBy(() -> ZooKeeperUrl.parse("zookeeper://me:secret@a b?keyStorePassword=hidden"))
                .hasMessageNotContaining("secret")
                .hasMessageNotContaining("hidden");
    }

    /** A root with an @ is accepted although it may be the rest of a password, so failures must not show it. */
    @Test
    void whatMayBeTheRestOfAPasswordIsNotShown() {
        String url = "zookeeper://127.0.0.1:" + Ports.reserve() + "/secret@h?timeout=300ms";
        assertThat(Throwables.getStackTrace(catchThrowable(() -> Holdfast.connect(url))))
                .contains("zookeeper://***@h")
                .doesNotContain("secret");
    }

    @Test
    void rootsMayHaveAnAt() {
        assertThat(ZooKeeperUrl.parse("zookeeper://zk1/app@prod").root()).isEqualTo("/app@prod");
        ZooKeeperUrl url = ZooKeeperUrl.parse("zookeeper://zk1:2181,zk2:2181/app@prod?timeout=1s");
        assertThat(url.root()).isEqualTo("/app@prod");
        assertThat(url.hosts()).isEqualTo("zk1:2181,zk2:2181");
        // It may also be the user zk1 whose password has a slash.
        assertThat(url).hasToString("zookeeper://***@prod");
        assertThat(ZooKeeperUrl.parse("zookeeper://u:p@zk1:2181/app@prod?tls=true&trustStore=/a@b")
                        .hosts())
                .isEqualTo("zk1:2181");
    }

    @Test
    void optionsOfAStoreOverAClientAreItsOwn() {
        CuratorFramework client = curator();
        assertThatThrownBy(() -> ZooKeeperLockStore.over(client, "sessionTimeout=3s"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("root, timeout, acl");
        assertThatThrownBy(() -> ZooKeeperLockStore.over(client, "root=locks"))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("locks");
    }

    @Test
    void serverThatIsNotThereIsNamedInTime() {
        Proxy proxy = proxy();
        proxy.cut();
        assertThatThrownBy(() -> openUrl("zookeeper://" + proxy.hosts() + "?timeout=500ms"))
                .isInstanceOf(StoreException.class)
                .hasMessageContaining("no connection")
                .hasMessageContaining("hosts");
    }

    @Test
    void rootIsCreatedWithTheFirstLockAndNamespaceIsUsed() throws Exception {
        CuratorFramework observer = curator();
        LockStore store = openUrl("zookeeper://" + server().hosts() + "/deep/er/" + name);
        granted(store, alice.mutex(name));
        assertThat(observer.getChildren().forPath("/deep/er/" + name + "/" + name))
                .hasSize(1);
        LockStore below = closing(ZooKeeperLockStore.over(observer.usingNamespace("app"), "root=/l"));
        granted(below, alice.mutex(name));
        assertThat(observer.getChildren().forPath("/app/l/" + name)).hasSize(1);
        assertThat(get(below.list("", 10))).containsExactly(name);
    }

    @Test
    void holdfastFindsTheStoreByItsScheme() throws Exception {
        try (Holdfast locks = Holdfast.connect("zookeeper://" + server().hosts())) {
            locks.lock(name.value()).lock();
            busy(open(), alice.mutex(name));
            locks.lock(name.value()).unlock();
        }
    }

    @Test
    void nodesCreatedWithALoginBelongToIt() throws Exception {
        String root = "/own-" + name;
        LockStore mine = openUrl("zookeeper://me:secret@" + server().hosts() + root);
        granted(mine, alice.mutex(name));
        hidesPassword(mine, "secret");
        assertThatThrownBy(() -> curator().getChildren().forPath(root + "/" + name))
                .isInstanceOf(KeeperException.NoAuthException.class);
        LockStore other = null;
        try {
            other = openUrl("zookeeper://" + server().hosts() + root);
            StoreException refusal = failure(other.tryAcquire(bob.mutex(name)));
            assertThat(refusal.retryable()).isFalse();
            assertThat(refusal).hasMessageContaining("rights");
        } catch (StoreException atTheOpening) {
            assertThat(atTheOpening).hasMessageContaining("rights");
        }
        LockStore again = openUrl("zookeeper://me:secret@" + server().hosts() + root);
        busy(again, bob.mutex(name));
    }

    private static void refused(String url, String... words) {
        assertThatThrownBy(() -> new ZooKeeperLockStoreProvider().open(url, MonotonicClock.SYSTEM))
                .as(url)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContainingAll(words);
    }
}
