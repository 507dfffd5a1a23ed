package dev.holdfast.zookeeper.op;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.zookeeper.claim.ClaimState;
import dev.holdfast.zookeeper.node.AdmissionQueue;
import dev.holdfast.zookeeper.node.NodeName;
import dev.holdfast.zookeeper.session.Reply;
import dev.holdfast.zookeeper.session.SessionClient;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Releases: deletes the claim's node, one round trip if it is known. A claim whose node is not known, or that may have been
 * sent twice, is looked for by its id; it may be that of another client, which is how a lock is broken.
 */
public final class Release {

    private final StoreContext site;

    public Release(StoreContext site) {
        this.site = site;
    }

    public CompletionStage<Released> release(Claim claim) {
        SessionClient handle = site.sessions().current();
        ClaimState place = site.places().find(claim.id());
        String path = place == null || place.state() == ClaimState.State.SENT ? null : place.path();
        // Buried before anything is sent: an answer that comes meanwhile must see it.
        if (path == null || claim.repeated()) {
            site.places().bury(claim);
        }
        if (path != null && place != null && !claim.repeated()) {
            return handle.delete(path).thenApply(reply -> ended(claim, place, reply));
        }
        return searchAndDelete(handle, claim, place);
    }

    private Released ended(Claim claim, ClaimState place, Reply<String> reply) {
        boolean found = reply.isOk();
        if (!found && !reply.isMissing()) {
            throw reply.failure();
        }
        if (!found) {
            site.places().bury(claim);
        }
        site.places().end(place, Renewed.Reason.RELEASED);
        return found ? Released.ALONE : Released.NOT_OWNER;
    }

    private CompletionStage<Released> searchAndDelete(SessionClient handle, Claim claim, @Nullable ClaimState place) {
        String folder = site.paths().folder(claim.name());
        if (place != null && place.state() == ClaimState.State.SENT) {
            site.leftovers().suspect(claim.id(), folder);
        }
        handle.sync(folder);
        return handle.children(folder).thenCompose(reply -> {
            AdmissionQueue queue = reply.isMissing() ? AdmissionQueue.EMPTY : AdmissionQueue.of(reply.get());
            List<CompletionStage<Reply<String>>> deletions = new ArrayList<>();
            for (NodeName node : queue.of(claim.id())) {
                String path = folder + '/' + node.text();
                if (!site.leftovers().isDoomed(path)) {
                    deletions.add(handle.delete(path));
                }
            }
            return all(deletions).thenApply(replies -> {
                Released released = deleted(replies);
                if (place != null) {
                    site.places().end(place, Renewed.Reason.RELEASED);
                }
                return released;
            });
        });
    }

    private static Released deleted(List<Reply<String>> replies) {
        boolean found = false;
        for (Reply<String> reply : replies) {
            if (!reply.isOk() && !reply.isMissing()) {
                throw reply.failure();
            }
            found |= reply.isOk();
        }
        return found ? Released.ALONE : Released.NOT_OWNER;
    }

    private static <T> CompletionStage<List<T>> all(List<CompletionStage<T>> stages) {
        CompletionStage<List<T>> result = CompletableFuture.completedStage(new ArrayList<>());
        for (CompletionStage<T> stage : stages) {
            result = result.thenCombine(stage, (list, value) -> {
                list.add(value);
                return list;
            });
        }
        return result;
    }
}
