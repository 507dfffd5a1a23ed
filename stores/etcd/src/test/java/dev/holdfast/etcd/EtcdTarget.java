package dev.holdfast.etcd;

import dev.holdfast.testkit.nemesis.TargetServer;
import java.time.Duration;

/** A server that is disturbed. */
record EtcdTarget(EtcdServer server) implements TargetServer.WithSessions {

    static final Duration SESSION = Duration.ofSeconds(2);

    /** The server looks for sessions that are over twice a second. */
    static final Duration BOUND = SESSION.plusMillis(500);

    @Override
    public String url(int port) {
        return "etcd://127.0.0.1:" + port + "?session=" + SESSION.toSeconds() + "s&timeout=1s";
    }

    // A key's last part begins with the id of its lease. The oldest key is that of the holder.
    @Override
    public boolean endSessionOfHolder(String lock) {
        String prefix = "holdfast/" + lock + "/";
        String key = server.control(
                        "get", prefix, "--prefix", "--keys-only", "--sort-by=CREATE", "--order=ASCEND", "--limit=1")
                .strip();
        if (key.isEmpty()) {
            return false;
        }
        try {
            server.control("lease", "revoke", key.substring(prefix.length()).replaceAll("-.*", ""));
            return true;
        } catch (AssertionError endedMeanwhile) {
            return false;
        }
    }
}
