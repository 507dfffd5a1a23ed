package dev.holdfast.benchmarks.server;

import java.util.List;
import java.util.stream.Collectors;

/** Three independent Redis servers, as Redlock needs them. */
public final class ThreeNodes implements Server {

    private final List<RedisNode> nodes = List.of(new RedisNode(), new RedisNode(), new RedisNode());

    @Override
    public String url() {
        return "quorum:" + target() + "#newNodes=true";
    }

    @Override
    public String target() {
        return nodes.stream().map(RedisNode::target).collect(Collectors.joining(","));
    }

    @Override
    public String describe() {
        return "three times " + nodes.get(0).describe();
    }

    @Override
    public boolean countsForFree() {
        return false;
    }

    @Override
    public long requests() {
        return nodes.stream().mapToLong(RedisNode::requests).reduce(0, (a, b) -> a < 0 || b < 0 ? -1 : a + b);
    }

    @Override
    public void startCounting() {
        nodes.forEach(RedisNode::startCounting);
    }

    @Override
    public void stopCounting() {
        nodes.forEach(RedisNode::stopCounting);
    }

    @Override
    public void close() {
        nodes.forEach(RedisNode::close);
    }
}
