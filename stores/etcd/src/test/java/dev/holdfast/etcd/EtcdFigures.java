package dev.holdfast.etcd;

import com.google.protobuf.ByteString;
import dev.holdfast.DistributedLock;
import dev.holdfast.Holdfast;
import dev.holdfast.etcd.rpc.Txns;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Granted;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.testkit.Claimant;
import dev.holdfast.testkit.WakeListener;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.api.KVGrpc;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.DeleteOption;
import io.etcd.jetcd.options.PutOption;
import io.grpc.ManagedChannel;
import io.grpc.netty.NettyChannelBuilder;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Measures what the store costs, on a server of its own; not a test. {@code pair [MILLIS]}: acquire and release of
 * a free lock, compared with a bare transaction and delete on the generated stubs and on jetcd, and with jetcd's
 * grant, lock, unlock and revoke; if MILLIS is given, through a proxy that delays each direction by it.
 * {@code wake [MILLIS]}: from the release call of one client to the grant in another, compared with jetcd's lock.
 * {@code threads N SECONDS}: N threads on one lock. {@code held N SECONDS}: what N locks cost that are held. With {@code -Dholdfast.server.folder=/var/tmp} the server's
 * data are there, on a disk.
 */
final class EtcdFigures {

    private static final Claimant ME = new Claimant("me", Duration.ofSeconds(10));
    private static final int ROUNDS = 5;

    private EtcdFigures() {}

    public static void main(String[] arguments) throws Exception {
        int delay = arguments.length > 1 && !List.of("threads", "held").contains(arguments[0])
                ? Integer.parseInt(arguments[1])
                : 0;
        try (EtcdServer server = EtcdServer.start();
                SlowProxy proxy = new SlowProxy(server.port(), delay)) {
            int port = delay == 0 ? server.port() : proxy.port();
            switch (arguments[0]) {
                case "pair" -> pair(port, delay == 0 ? 1_500 : 60);
                case "wake" -> wake(port, delay == 0 ? 300 : 60);
                case "held" -> held(port, Integer.parseInt(arguments[1]), Integer.parseInt(arguments[2]));
                case "threads" -> threads(port, Integer.parseInt(arguments[1]), Integer.parseInt(arguments[2]));
                default -> throw new IllegalArgumentException(arguments[0]);
            }
        }
        System.exit(0); // jetcd leaves threads behind
    }

    private interface Pair {
        void run() throws Exception;
    }

    private static LockStore open(int port) {
        return new EtcdLockStoreProvider().open("etcd://127.0.0.1:" + port, MonotonicClock.SYSTEM);
    }

    private static Client jetcd(int port) {
        return Client.builder().endpoints("http://127.0.0.1:" + port).build();
    }

    private static void pair(int port, int times) throws Exception {
        ManagedChannel channel =
                NettyChannelBuilder.forAddress("127.0.0.1", port).usePlaintext().build();
        try (LockStore store = open(port);
                Client client = jetcd(port)) {
            Pair ours = ours(store, new LockName("figures"));
            Pair stub = bareStub(channel, lease(client));
            Pair bare = bareJetcd(client, lease(client));
            Pair peer = jetcdLock(client);
            double[][] micros = new double[4][ROUNDS];
            for (int round = -2; round < ROUNDS; round++) {
                int at = Math.max(0, round);
                micros[0][at] = measured("holdfast", times, ours);
                micros[1][at] = measured("bare stub, transaction + delete", times, stub);
                micros[2][at] = measured("bare jetcd, transaction + delete", times, bare);
                micros[3][at] = measured("jetcd, grant + lock + unlock + revoke", Math.max(30, times / 3), peer);
            }
            String[] beside = {"bare stub", "bare jetcd", "jetcd's lock"};
            for (int i = 1; i < 4; i++) {
                double[] ratios = new double[ROUNDS];
                for (int round = 0; round < ROUNDS; round++) {
                    ratios[round] = micros[0][round] / micros[i][round];
                }
                Arrays.sort(ratios);
                System.out.printf(
                        "holdfast is %.3f of %s (median of %d rounds)%n", ratios[ROUNDS / 2], beside[i - 1], ROUNDS);
            }
        } finally {
            channel.shutdownNow();
        }
    }

    private static Pair ours(LockStore store, LockName name) {
        return () -> {
            Claim claim = ME.mutex(name);
            if (!(store.tryAcquire(claim).toCompletableFuture().join() instanceof Granted)
                    || !store.release(claim).toCompletableFuture().join().wasOwner()) {
                throw new IllegalStateException("somebody else uses " + name);
            }
        };
    }

    private static long lease(Client client) throws Exception {
        return client.getLeaseClient().grant(3_600).get().getID();
    }

    private static Pair bareStub(ManagedChannel channel, long lease) {
        KVGrpc.KVBlockingStub stub = KVGrpc.newBlockingStub(channel);
        ByteString key = ByteString.copyFromUtf8("figures-stub/1");
        ByteString value = ByteString.copyFromUtf8("v".repeat(100));
        TxnRequest put = TxnRequest.newBuilder()
                .addCompare(Txns.absent(key))
                .addSuccess(Txns.put(key, value, lease))
                .addFailure(Txns.get(key))
                .build();
        return () -> {
            long created = stub.txn(put).getHeader().getRevision();
            TxnRequest delete = TxnRequest.newBuilder()
                    .addCompare(Txns.createdAt(key, created))
                    .addSuccess(Txns.delete(key))
                    .build();
            if (!stub.txn(delete).getSucceeded()) {
                throw new IllegalStateException("somebody else uses " + key);
            }
        };
    }

    private static Pair bareJetcd(Client client, long lease) {
        ByteSequence key = bytes("figures-jetcd/1");
        ByteSequence value = bytes("v".repeat(100));
        Cmp absent = new Cmp(key, Cmp.Op.EQUAL, CmpTarget.createRevision(0));
        Op put = Op.put(key, value, PutOption.builder().withLeaseId(lease).build());
        Op delete = Op.delete(key, DeleteOption.DEFAULT);
        return () -> {
            long created = client.getKVClient()
                    .txn()
                    .If(absent)
                    .Then(put)
                    .commit()
                    .get()
                    .getHeader()
                    .getRevision();
            Cmp same = new Cmp(key, Cmp.Op.EQUAL, CmpTarget.createRevision(created));
            if (!client.getKVClient().txn().If(same).Then(delete).commit().get().isSucceeded()) {
                throw new IllegalStateException("somebody else uses " + key);
            }
        };
    }

    private static Pair jetcdLock(Client client) {
        ByteSequence name = bytes("figures-lock");
        return () -> {
            long lease = client.getLeaseClient().grant(30).get().getID();
            ByteSequence key = client.getLockClient().lock(name, lease).get().getKey();
            client.getLockClient().unlock(key).get();
            client.getLeaseClient().revoke(lease).get();
        };
    }

    private static double measured(String what, int times, Pair pair) throws Exception {
        long[] nanos = new long[times];
        long cpu = cpuNanos();
        long before = allocated();
        for (int i = 0; i < times; i++) {
            long start = System.nanoTime();
            pair.run();
            nanos[i] = System.nanoTime() - start;
        }
        long bytes = (allocated() - before) / times;
        long used = (cpuNanos() - cpu) / times / 1_000;
        print(what + " (" + used + " us of CPU, " + bytes + " bytes a pair)", nanos);
        return nanos[times / 2] / 1e3;
    }

    private static long cpuNanos() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
                .getProcessCpuTime();
    }

    // Counts all threads, because the threads of the connection do most of a client's work.
    private static long allocated() {
        var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        return Arrays.stream(threads.getThreadAllocatedBytes(threads.getAllThreadIds()))
                .filter(bytes -> bytes > 0)
                .sum();
    }

    private static void wake(int port, int times) throws Exception {
        LockName name = new LockName("figures");
        try (LockStore store = open(port);
                LockStore other = open(port);
                Client client = jetcd(port);
                Client second = jetcd(port)) {
            long lease = client.getLeaseClient().grant(3_600).get().getID();
            long secondLease = client.getLeaseClient().grant(3_600).get().getID();
            for (int round = 0; round < 3; round++) {
                long[] nanos = new long[times];
                for (int i = 0; i < times; i++) {
                    Claim holder = ME.mutex(name);
                    store.tryAcquire(holder).toCompletableFuture().join();
                    Claim waiter = ME.mutex(name);
                    WakeListener listener = new WakeListener();
                    other.enqueue(waiter, listener);
                    LockSupport.parkNanos(30_000_000);
                    long start = System.nanoTime();
                    store.release(holder);
                    nanos[i] = listener.awaitGrant() - start;
                    other.release(waiter).toCompletableFuture().join();
                }
                print("holdfast, from release to grant elsewhere", nanos);
                for (int i = 0; i < times; i++) {
                    ByteSequence key = client.getLockClient()
                            .lock(bytes("wake"), lease)
                            .get()
                            .getKey();
                    var next = second.getLockClient().lock(bytes("wake"), secondLease);
                    LockSupport.parkNanos(30_000_000);
                    long start = System.nanoTime();
                    client.getLockClient().unlock(key);
                    ByteSequence got = next.get().getKey();
                    nanos[i] = System.nanoTime() - start;
                    second.getLockClient().unlock(got).get();
                }
                print("jetcd's lock, from unlock to lock elsewhere", nanos);
            }
        }
    }

    private static void threads(int port, int count, int seconds) throws Exception {
        try (LockStore store = open(port);
                Holdfast locks = Holdfast.over(store);
                Client client = jetcd(port)) {
            DistributedLock lock = locks.lock("figures");
            for (int round = 0; round < 3; round++) {
                double rate = together(count, seconds, () -> {
                    lock.lock();
                    lock.unlock();
                });
                double peer = together(count, seconds, () -> {
                    long lease = client.getLeaseClient().grant(30).get().getID();
                    ByteSequence key = client.getLockClient()
                            .lock(bytes("figures-threads"), lease)
                            .get()
                            .getKey();
                    client.getLockClient().unlock(key).get();
                    client.getLeaseClient().revoke(lease).get();
                });
                System.out.printf(
                        "%d threads, one lock: holdfast %.0f pairs/s, jetcd's lock %.1f pairs/s, %.0f times%n",
                        count, rate, peer, rate / peer);
            }
        }
    }

    private static void held(int port, int number, int seconds) throws Exception {
        AnswerMeter meter = new AnswerMeter();
        ManagedChannel channel = NettyChannelBuilder.forAddress("127.0.0.1", port)
                .usePlaintext()
                .intercept(meter)
                .build();
        try (Holdfast locks = Holdfast.over(EtcdLockStore.over(channel))) {
            AtomicInteger lost = new AtomicInteger();
            for (int i = 0; i < number; i++) {
                locks.lock("held-" + i).acquire().onLost(reason -> lost.incrementAndGet());
            }
            // Their first renewals watch them.
            TimeUnit.SECONDS.sleep(30);
            for (int round = 0; round < 3; round++) {
                meter.reset();
                long cpu = cpuNanos();
                TimeUnit.SECONDS.sleep(seconds);
                System.out.printf(
                        "%d held: %.2f requests/s, %.2f %% of a core, %d lost%n",
                        number,
                        (double) meter.requests.get() / seconds,
                        (cpuNanos() - cpu) / 1e7 / seconds,
                        lost.get());
            }
        }
        channel.shutdownNow();
    }

    private static double together(int count, int seconds, Pair pair) throws InterruptedException {
        CountDownLatch done = new CountDownLatch(count);
        long start = System.nanoTime();
        long deadline = start + TimeUnit.SECONDS.toNanos(seconds);
        long[] pairs = new long[count];
        for (int i = 0; i < count; i++) {
            int thread = i;
            new Thread(() -> {
                        try {
                            while (System.nanoTime() - deadline < 0) {
                                pair.run();
                                pairs[thread]++;
                            }
                        } catch (Exception failure) {
                            failure.printStackTrace();
                        } finally {
                            done.countDown();
                        }
                    })
                    .start();
        }
        done.await();
        return Arrays.stream(pairs).sum() * 1e9 / (System.nanoTime() - start);
    }

    private static void print(String what, long[] nanos) {
        Arrays.sort(nanos);
        System.out.printf(
                "%s: mean %.1f, p50 %.1f, p99 %.1f us%n",
                what,
                Arrays.stream(nanos).average().orElse(0) / 1e3,
                nanos[nanos.length / 2] / 1e3,
                nanos[nanos.length * 99 / 100] / 1e3);
    }

    private static ByteSequence bytes(String text) {
        return ByteSequence.from(text, StandardCharsets.UTF_8);
    }
}
