package dev.holdfast.store;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** What the JDK lacks for completion stages. Stateless. */
public final class Stages {

    private Stages() {}

    /**
     * Waits for all of the stages.
     *
     * @return completes with their values, in the order of the stages, in a list that may be changed. It fails if one of them
     *     fails, after all have ended
     */
    public static <T> CompletionStage<List<T>> all(List<? extends CompletionStage<T>> stages) {
        CompletionStage<List<T>> all = CompletableFuture.completedStage(new ArrayList<>(stages.size()));
        for (CompletionStage<T> stage : stages) {
            all = all.thenCombine(stage, (list, value) -> {
                list.add(value);
                return list;
            });
        }
        return all;
    }
}
