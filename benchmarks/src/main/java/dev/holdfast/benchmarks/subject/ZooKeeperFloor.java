package dev.holdfast.benchmarks.subject;

import dev.holdfast.workload.Section;
import dev.holdfast.workload.Subject;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;

/**
 * The fewest requests of the recipe, on the bare client: create an ephemeral sequential node and list its siblings
 * in one flight, watch the one before, delete.
 */
public final class ZooKeeperFloor implements Subject {

    private static final int SESSION_MILLIS = 30_000;

    private final ZooKeeper zoo;
    private final ConcurrentHashMap<String, Boolean> made = new ConcurrentHashMap<>();

    public ZooKeeperFloor(String address) throws Exception {
        CountDownLatch connected = new CountDownLatch(1);
        zoo = new ZooKeeper(address, SESSION_MILLIS, event -> {
            if (event.getState() == KeeperState.SyncConnected) {
                connected.countDown();
            }
        });
        if (!connected.await(30, TimeUnit.SECONDS)) {
            throw new IllegalStateException("ZooKeeper does not answer at " + address);
        }
        make("/floor");
    }

    private void make(String path) {
        made.computeIfAbsent(path, ignored -> {
            try {
                zoo.create(path, new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            } catch (KeeperException.NodeExistsException there) {
                return true;
            } catch (KeeperException | InterruptedException failed) {
                throw new IllegalStateException(failed);
            }
            return true;
        });
    }

    @Override
    public Section mutex(String name) {
        String parent = "/floor/" + name;
        make(parent);
        return new Node(parent);
    }

    private final class Node implements Section {
        private final String parent;
        private String mine = "";

        Node(String parent) {
            this.parent = parent;
        }

        @Override
        public void enter() throws Exception {
            CompletableFuture<String> created = new CompletableFuture<>();
            CompletableFuture<List<String>> listed = new CompletableFuture<>();
            zoo.create(
                    parent + "/n-",
                    new byte[0],
                    ZooDefs.Ids.OPEN_ACL_UNSAFE,
                    CreateMode.EPHEMERAL_SEQUENTIAL,
                    (code, path, context, name) -> created.complete(code == 0 ? name : "error " + code),
                    null);
            zoo.getChildren(
                    parent,
                    false,
                    (int code, String path, Object context, List<String> children) ->
                            listed.complete(code == 0 ? new ArrayList<>(children) : new ArrayList<>()),
                    null);
            mine = created.get();
            List<String> children = listed.get();
            String node = mine.substring(mine.lastIndexOf('/') + 1);
            while (true) {
                Collections.sort(children);
                int at = children.indexOf(node);
                if (at < 0) {
                    throw new IllegalStateException("The node " + mine + " is gone");
                } else if (at == 0) {
                    return;
                }
                Semaphore gone = new Semaphore(0);
                if (zoo.exists(parent + "/" + children.get(at - 1), event -> gone.release()) != null) {
                    gone.acquire();
                }
                children = new ArrayList<>(zoo.getChildren(parent, false));
            }
        }

        @Override
        public void leave() throws Exception {
            zoo.delete(mine, -1);
        }
    }

    @Override
    public void close() throws InterruptedException {
        zoo.close();
    }
}
