package dev.holdfast.quorum;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.ClaimId;
import dev.holdfast.spi.LockName;
import dev.holdfast.spi.LockStore;
import dev.holdfast.spi.MonotonicClock;
import dev.holdfast.spi.ResourceState;
import dev.holdfast.spi.ResourceState.Entry;
import dev.holdfast.store.TimeLimit;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** What the nodes know together. It needs the answers of a majority. */
final class Inspection {

    private static final int MOST_IN_ORDER = 1_000;

    /**
     * By how much of the claim's life has reached the node that shows it. A grant may shrink, and never grows: a node that shows
     * more permits was not reached by the downgrade, or not yet. From the grant to the end of the lease it is the longer the
     * later the last renewal came, whenever the node has answered; and a renewal replaces the owner.
     */
    private static final Comparator<Entry> NEWEST_FIRST = Comparator.comparingInt(
                    (Entry entry) -> entry.claim().permits())
            .thenComparing(entry -> entry.age().plus(entry.remaining()), Comparator.reverseOrder());

    private final Nodes nodes;
    private final ClaimTable table;
    private final TimeLimit all;
    private final TimeLimit majority;

    /**
     * @param nodeTimeout how long all nodes are waited for
     * @param limit how long a majority is waited for
     * @param clock measures the time
     * @param later returns an executor that runs its tasks after the given delay
     */
    Inspection(
            Nodes nodes,
            ClaimTable table,
            Duration nodeTimeout,
            Duration limit,
            MonotonicClock clock,
            Function<Duration, Executor> later) {
        this.nodes = nodes;
        this.table = table;
        this.all = new TimeLimit(nodeTimeout, clock, later);
        this.majority = new TimeLimit(limit, clock, later);
    }

    /** The holders that a majority of the nodes names; this client's own with the ids that it knows. What only a minority keeps is no grant; it ends with its lease. */
    CompletionStage<Optional<ResourceState>> inspect(LockName name) {
        return this.<Optional<ResourceState>>all("inspect \"" + name + "\"", store -> store.inspect(name))
                .thenApply(answers ->
                        merged(name, answers.stream().flatMap(Optional::stream).toList()));
    }

    /** The names that a majority of the nodes may have in use: a minority may be one that a release has not reached yet. */
    CompletionStage<List<LockName>> list(String prefix, int limit) {
        return list(prefix, limit, limit);
    }

    // Those that are left out may be so many that the nodes must be asked for more names.
    private CompletionStage<List<LockName>> list(String prefix, int limit, int asked) {
        return this.<List<LockName>>all("list the names in use", store -> store.list(prefix, asked))
                .thenCompose(answers -> {
                    List<LockName> names = inUse(answers, asked);
                    boolean isCut = answers.stream().anyMatch(answer -> answer.size() == asked);
                    return isCut && names.size() < limit && asked < LockStore.MAX_LIST
                            ? list(prefix, limit, Math.min(2 * asked, LockStore.MAX_LIST))
                            : CompletableFuture.completedStage(
                                    names.stream().limit(limit).toList());
                });
    }

    private List<LockName> inUse(List<List<LockName>> answers, int asked) {
        NavigableSet<LockName> names = new TreeSet<>();
        answers.forEach(names::addAll);
        // Which names a node has behind the last one of a list that was cut is not known.
        Optional<LockName> known = answers.stream()
                .filter(answer -> answer.size() == asked)
                .map(answer -> answer.get(asked - 1))
                .min(Comparator.naturalOrder());
        return known.map(last -> names.headSet(last, true)).orElse(names).stream()
                .filter(name -> mayBeInUse(name, answers))
                .toList();
    }

    // A node that has not answered may have any name in use.
    private boolean mayBeInUse(LockName name, List<List<LockName>> answers) {
        long free = answers.stream()
                .filter(names -> Collections.binarySearch(names, name) < 0)
                .count();
        return nodes.size() - free >= nodes.majority();
    }

    private Optional<ResourceState> merged(LockName name, List<ResourceState> states) {
        Map<ClaimId, List<Entry>> byClaim = new LinkedHashMap<>();
        for (ResourceState state : states) {
            state.holders()
                    .forEach(entry -> byClaim.computeIfAbsent(entry.claim().id(), id -> new ArrayList<>())
                            .add(entry));
        }
        byClaim.values().removeIf(entries -> entries.size() < nodes.majority());
        List<Entry> holders =
                inOrder(List.copyOf(byClaim.values()), states).map(this::merged).toList();
        if (holders.isEmpty()) {
            return Optional.empty();
        }
        long counter = states.stream().mapToLong(ResourceState::counter).max().orElse(0);
        return Optional.of(new ResourceState(name, holders.get(0).claim().limit(), counter, holders, List.of()));
    }

    // A majority has granted a claim before the next one is asked for, so if all nodes answer, most of them have both
    // in that order, or only the first. Ages and counters do not tell it: they come from nodes that granted, and
    // answer, at different times. Each is compared with each, so very many are left in the order of the first node.
    private static Stream<List<Entry>> inOrder(List<List<Entry>> grants, List<ResourceState> states) {
        if (grants.size() > MOST_IN_ORDER) {
            return grants.stream();
        }
        int[][] places = states.stream().map(state -> places(grants, state)).toArray(int[][]::new);
        int[] later = new int[grants.size()];
        for (int i = 0; i < later.length; i++) {
            for (int k = 0; k < later.length; k++) {
                later[i] += isBefore(places, i, k) ? 1 : 0;
            }
        }
        return IntStream.range(0, later.length)
                .boxed()
                .sorted(Comparator.comparing(i -> -later[i]))
                .map(grants::get);
    }

    // The place of each grant among those of a node; behind them all if the node does not know it.
    private static int[] places(List<List<Entry>> grants, ResourceState state) {
        Map<ClaimId, Integer> places = new HashMap<>();
        state.holders().forEach(entry -> places.put(entry.claim().id(), places.size()));
        return grants.stream()
                .mapToInt(entries -> places.getOrDefault(entries.get(0).claim().id(), Integer.MAX_VALUE))
                .toArray();
    }

    // Whether more nodes have granted the one before the other than after it.
    private static boolean isBefore(int[][] places, int one, int other) {
        int votes = 0;
        for (int[] node : places) {
            votes += Integer.compare(node[other], node[one]);
        }
        return votes > 0;
    }

    private Entry merged(List<Entry> entries) {
        long counter = nodes.token(entries.stream().map(Entry::counter));
        Duration age =
                entries.stream().map(Entry::age).max(Comparator.naturalOrder()).orElseThrow();
        Claim newest = entries.stream().min(NEWEST_FIRST).orElseThrow().claim();
        return new Entry(
                known(newest), counter, age, nodes.reached(entries.stream().map(Entry::remaining)));
    }

    private Claim known(Claim claim) {
        ClaimId id = table.outer(claim.id());
        return id.equals(claim.id())
                ? claim
                : new Claim(
                        claim.name(),
                        id,
                        claim.permits(),
                        claim.limit(),
                        claim.lease(),
                        claim.owner(),
                        claim.repeated());
    }

    // A node may need more than one request for its answer, as for a list of names, and so longer than it is waited for
    // elsewhere.
    private <T> CompletionStage<List<T>> all(String what, Function<LockStore, CompletionStage<T>> call) {
        NodeAnswers<T> answers = new NodeAnswers<>(what, nodes);
        for (Node node : nodes) {
            node.inspect(call).whenComplete((answer, failure) -> answers.add(node, answer, failure));
        }
        // A time limit forgets what has ended, and with it the nodes: a timer would keep those of a closed client.
        TimeLimit.Call untilMajority = all.begin(answers::waitForMajority);
        TimeLimit.Call untilEnd = majority.begin(answers::end);
        return answers.result().whenComplete((given, failure) -> {
            untilMajority.end();
            untilEnd.end();
        });
    }
}
