package dev.holdfast.zookeeper.session;

import org.jspecify.annotations.Nullable;

/** A path as one session sees it: watches and requests that are under way end with their session. */
public record SessionPath(long session, String path) {

    // By hand: what a record generates is slow until it is compiled.
    @Override
    public boolean equals(@Nullable Object other) {
        return other instanceof SessionPath that && session == that.session && path.equals(that.path);
    }

    @Override
    public int hashCode() {
        return 31 * Long.hashCode(session) + path.hashCode();
    }
}
