package dev.holdfast.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.spi.Attempt;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.testkit.RecordingListener;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Real {@code etcdctl lock} processes and clients of this store wait in the same queue. */
class InteropTest extends WithPlainServer {

    private static final int PROCESSES = 3;
    private static final int CLIENTS = 3;
    private static final int ROUNDS = 10;

    @TempDir
    Path folder;

    @Test
    void bothKindsOfClientsExcludeEachOther() throws IOException, InterruptedException {
        Path counter = Files.writeString(folder.resolve("counter"), "0");
        String add = "n=$(cat " + counter + "); sleep 0.01; echo $((n+1)) > " + counter;
        ConcurrentLinkedQueue<Throwable> failures = new ConcurrentLinkedQueue<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < PROCESSES; i++) {
            threads.add(new Thread(() -> {
                for (int round = 0; round < ROUNDS; round++) {
                    server.control("lock", "holdfast/" + name, "--", "sh", "-c", add);
                }
            }));
        }
        for (int i = 0; i < CLIENTS; i++) {
            LockStore store = open("");
            threads.add(new Thread(() -> {
                try (Holdfast locks = Holdfast.over(store)) {
                    DistributedLock lock = locks.lock(name.value());
                    for (int round = 0; round < ROUNDS; round++) {
                        lock.lock();
                        try {
                            int read =
                                    Integer.parseInt(Files.readString(counter).strip());
                            pause(10);
                            Files.writeString(counter, Integer.toString(read + 1));
                        } finally {
                            lock.unlock();
                        }
                    }
                } catch (IOException failure) {
                    throw new UncheckedIOException(failure);
                }
            }));
        }
        for (Thread thread : threads) {
            thread.setUncaughtExceptionHandler((which, failure) -> failures.add(failure));
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join(60_000);
        }
        assertThat(failures).isEmpty();
        assertThat(Files.readString(counter).strip()).isEqualTo(Integer.toString((PROCESSES + CLIENTS) * ROUNDS));
    }

    @Test
    void processIsShownWaitsForUsAndCanBeBroken() throws IOException {
        LockStore store = open("?prefix=");
        Process process = lockProcess("echo got it; sleep 60");
        try {
            awaitUntil(() -> get(store.inspect(name)).isPresent());
            assertThat(get(store.tryAcquire(alice.mutex(name)))).isInstanceOf(Attempt.Busy.class);
            RecordingListener waiter = waiting(store, alice.mutex(name));
            ResourceState.Entry holder =
                    get(store.inspect(name)).orElseThrow().holders().get(0);
            assertThat(holder.claim().owner().client()).startsWith("etcdctl_");
            assertThat(get(store.release(holder.claim())).wasOwner()).isTrue();
            awaitGrant(waiter);
        } finally {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
    }

    @Test
    void processGetsWhatWeRelease() throws IOException {
        LockStore store = open("?prefix=");
        var claim = alice.mutex(name);
        granted(store, claim);
        Process process = lockProcess("echo got it");
        awaitUntil(() -> get(store.inspect(name)).orElseThrow().waiters().size() == 1);
        assertThat(process.isAlive()).isTrue();
        get(store.release(claim));
        String output = new String(process.getInputStream().readAllBytes());
        assertThat(output).contains("got it");
        awaitUntil(() -> get(store.inspect(name)).isEmpty());
    }

    private Process lockProcess(String script) {
        List<String> command = new ArrayList<>(server.control());
        command.addAll(List.of("lock", name.value(), "--", "sh", "-c", script));
        return EtcdServer.run(command);
    }
}
