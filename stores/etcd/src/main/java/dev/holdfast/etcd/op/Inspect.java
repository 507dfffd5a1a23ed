package dev.holdfast.etcd.op;

import com.google.protobuf.ByteString;
import dev.holdfast.etcd.queue.AdmissionQueue;
import dev.holdfast.etcd.queue.LockKeys;
import dev.holdfast.etcd.queue.QueueEntry;
import dev.holdfast.etcd.rpc.EtcdClient;
import dev.holdfast.etcd.session.ClaimState;
import dev.holdfast.etcd.session.ClaimTable;
import dev.holdfast.spi.Claim;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.ResourceState;
import io.etcd.jetcd.api.KeyValue;
import io.etcd.jetcd.api.RangeRequest;
import io.etcd.jetcd.api.RangeResponse;
import io.etcd.jetcd.api.RequestOp;
import io.etcd.jetcd.api.TxnRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Reads what is displayed to people: who holds and waits, and which names are in use. */
public final class Inspect {

    /** How many keys one request of {@code list} reads. */
    private static final int PAGE = 5_000;

    private final EtcdClient client;
    private final QueueReader reader;
    private final ClaimTable claimTable;
    private final LockKeys keys;
    private final MonotonicClock clock;
    private final Duration ticketTtl;

    public Inspect(
            EtcdClient client,
            QueueReader reader,
            ClaimTable claimTable,
            LockKeys keys,
            MonotonicClock clock,
            Duration ticketTtl) {
        this.client = client;
        this.reader = reader;
        this.claimTable = claimTable;
        this.keys = keys;
        this.clock = clock;
        this.ticketTtl = ticketTtl;
    }

    public CompletionStage<Optional<ResourceState>> inspect(LockName name) {
        return reader.readAll(keys.queue(name)).thenApply(seen -> state(name, seen.queue()));
    }

    private Optional<ResourceState> state(LockName name, AdmissionQueue queue) {
        List<QueueEntry> entries = queue.entries();
        if (entries.isEmpty()) {
            return Optional.empty();
        }
        List<ResourceState.Entry> holders = new ArrayList<>();
        List<ResourceState.Entry> waiters = new ArrayList<>();
        for (int i = 0; i < entries.size(); i++) {
            boolean holds = queue.isAdmitted(i);
            (holds ? holders : waiters).add(entry(name, entries.get(i), holds));
        }
        long counter =
                queue.admitted() == 0 ? 0 : entries.get(queue.admitted() - 1).created();
        return Optional.of(new ResourceState(name, entries.get(0).limit(), counter, holders, waiters));
    }

    private ResourceState.Entry entry(LockName name, QueueEntry entry, boolean holds) {
        Claim claim = new Claim(name, entry.id(), entry.permits(), entry.limit(), entry.lease(), entry.owner());
        // This time comes from another client's wall clock, which is good enough for display.
        long age = entry.since() == 0 ? 0 : Math.max(0, clock.epochMicros() - entry.since());
        Duration remaining = holds ? entry.lease() : ticketTtl;
        ClaimState own = claimTable.find(name, entry.id());
        if (own != null && own.deadline != Long.MAX_VALUE) {
            remaining = Duration.ofNanos(Math.max(0, own.deadline - clock.nanoTime()));
        }
        return new ResourceState.Entry(claim, holds ? entry.created() : 0, Duration.ofNanos(age * 1_000), remaining);
    }

    public CompletionStage<List<LockName>> list(String prefix, int limit) {
        ByteString from = keys.names(prefix);
        if (from.isEmpty()) {
            from = ByteString.copyFrom(new byte[1]);
        }
        return page(from, keys.names(prefix), prefix, limit, new TreeSet<>());
    }

    private CompletionStage<List<LockName>> page(
            ByteString from, ByteString begins, String prefix, int limit, NavigableSet<LockName> found) {
        ByteString end = begins.isEmpty() ? ByteString.copyFrom(new byte[1]) : LockKeys.endOf(begins);
        RangeRequest.Builder range = RangeRequest.newBuilder()
                .setKey(from)
                .setRangeEnd(end)
                .setLimit(PAGE)
                .setKeysOnly(true);
        TxnRequest request = TxnRequest.newBuilder()
                .addSuccess(RequestOp.newBuilder().setRequestRange(range))
                .build();
        return client.txn(request, false).thenCompose(answer -> {
            RangeResponse page = answer.getResponses(0).getResponseRange();
            for (KeyValue pair : page.getKvsList()) {
                LockName name = keys.name(pair.getKey());
                if (name != null && name.value().startsWith(prefix)) {
                    found.add(name);
                    if (found.size() > limit) {
                        found.pollLast();
                    }
                }
            }
            if (!page.getMore()) {
                return CompletableFuture.completedStage(List.copyOf(found));
            }
            ByteString next = page.getKvs(page.getKvsCount() - 1).getKey().concat(ByteString.copyFrom(new byte[1]));
            return page(next, begins, prefix, limit, found);
        });
    }
}
