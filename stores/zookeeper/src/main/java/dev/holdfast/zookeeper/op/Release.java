package dev.holdfast.zookeeper.op;

import dev.holdfast.spi.Claim;
import dev.holdfast.spi.Released;
import dev.holdfast.spi.Renewed;
import dev.holdfast.store.Stages;
import dev.holdfast.zookeeper.claim.ClaimState;
import dev.holdfast.zookeeper.node.AdmissionQueue;
import dev.holdfast.zookeeper.node.NodeName;
import dev.holdfast.zookeeper.session.Reply;
import dev.holdfast.zookeeper.session.SessionClient;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Releases a claim: deletes its node, which takes one round trip if the node is known. If the node is not known, or
 * the claim may have been sent twice, its nodes are searched by the claim's id. The claim may be that of another
 * client; this is how a lock is broken.
 */
public final class Release {

    private final StoreContext context;
    private final QueueLists queueLists;

    public Release(StoreContext context, QueueLists queueLists) {
        this.context = context;
        this.queueLists = queueLists;
    }

    /** Releases a claim. The outcome goes to whoever receives it, on the client's event thread. */
    public void release(Claim claim, BiConsumer<Released, Throwable> answer) {
        SessionClient client = context.sessions().current();
        ClaimState claimState = context.claims().find(claim.id());
        String path = claimState == null || claimState.state() == ClaimState.State.SENT ? null : claimState.path();
        // The tombstone is added before anything is sent, because replies that arrive in the meantime must see it.
        if (path == null || claim.repeated()) {
            context.claims().addTombstone(claim);
        }
        if (claimState != null) {
            claimState.beginRelease();
        }
        if (path != null && claimState != null && !claim.repeated()) {
            client.delete(path, (int code, String deleted, Object unused) -> {
                try {
                    answer.accept(nodeDeleted(claim, claimState, Reply.of(code, deleted, deleted)), null);
                } catch (RuntimeException | Error failure) {
                    answer.accept(null, failure);
                }
            });
        } else {
            searchAndDelete(client, claim, claimState).whenComplete(answer);
        }
    }

    private Released nodeDeleted(Claim claim, ClaimState claimState, Reply<String> reply) {
        boolean found = reply.isOk();
        if (!found && !reply.isMissing()) {
            throw reply.failure();
        }
        if (!found) {
            context.claims().addTombstone(claim);
        }
        context.claims().end(claimState, Renewed.Reason.RELEASED);
        return found ? Released.ALONE : Released.NOT_OWNER;
    }

    private CompletionStage<Released> searchAndDelete(
            SessionClient client, Claim claim, @Nullable ClaimState claimState) {
        String parent = context.paths().parent(claim.name());
        if (claimState != null && claimState.state() == ClaimState.State.SENT) {
            context.orphans().expectLateNode(claim.id(), parent);
        }
        return queueLists.listConfirmed(client, parent).thenCompose(reply -> {
            AdmissionQueue queue = reply.isMissing() ? AdmissionQueue.EMPTY : reply.get();
            List<CompletionStage<Reply<String>>> deletions = new ArrayList<>();
            for (NodeName node : queue.of(claim.id())) {
                String path = parent + '/' + node.text();
                if (!context.orphans().isDeletePending(path)) {
                    deletions.add(client.delete(path));
                }
            }
            return Stages.all(deletions).thenApply(replies -> {
                Released released = deleted(replies);
                if (claimState != null) {
                    context.claims().end(claimState, Renewed.Reason.RELEASED);
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
}
