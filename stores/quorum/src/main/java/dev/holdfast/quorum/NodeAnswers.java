package dev.holdfast.quorum;

import dev.holdfast.spi.StoreException;
import dev.holdfast.spi.StoreException.Effect;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The answers of the nodes to one question, which all of them are asked. All are waited for at first, from some time on only a
 * majority, and in the end none. Thread-safe.
 */
final class NodeAnswers<T> {

    private final String question;
    private final Nodes nodes;
    private final CompletableFuture<List<T>> result = new CompletableFuture<>();
    /** By the index of the node. */
    private final NavigableMap<Integer, T> answers = new TreeMap<>();
    /** By the index of the node: why it has given none. */
    private final NavigableMap<Integer, String> failures = new TreeMap<>();

    private boolean isMajorityEnough;

    /** @param question what the nodes are to do, for messages */
    NodeAnswers(String question, Nodes nodes) {
        this.question = question;
        this.nodes = nodes;
    }

    /** The answers, in the order of the nodes. It fails if no majority answers. */
    CompletionStage<List<T>> result() {
        return result;
    }

    void add(Node node, @Nullable T answer, @Nullable Throwable failure) {
        synchronized (this) {
            if (failure == null && answer != null) {
                answers.put(node.index(), answer);
            } else {
                failures.put(
                        node.index(),
                        failure == null ? "nothing" : StoreException.of(failure).getMessage());
            }
        }
        endIfEnough();
    }

    /** From now on a majority is enough. */
    void waitForMajority() {
        synchronized (this) {
            isMajorityEnough = true;
        }
        endIfEnough();
    }

    private void endIfEnough() {
        boolean isEnough;
        synchronized (this) {
            isEnough = answers.size() + failures.size() == nodes.size()
                    || (isMajorityEnough && answers.size() >= nodes.majority());
        }
        if (isEnough) {
            end();
        }
    }

    /** Waits for no node any more. */
    void end() {
        List<T> given;
        StringBuilder problems = new StringBuilder();
        synchronized (this) {
            given = List.copyOf(answers.values());
            for (Node node : nodes) {
                if (!answers.containsKey(node.index())) {
                    String problem = failures.getOrDefault(node.index(), "no answer in time");
                    problems.append("; ").append(node).append(": ").append(problem);
                }
            }
        }
        if (given.size() >= nodes.majority()) {
            result.complete(given);
        } else {
            result.completeExceptionally(StoreException.unavailable(
                    Effect.NONE,
                    "No majority of the " + nodes.size() + " nodes answered to " + question + problems,
                    null));
        }
    }
}
