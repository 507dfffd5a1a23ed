package dev.holdfast.benchmarks.server;

/** The store in memory: each process has its own. */
public final class NoServer implements Server {

    @Override
    public String url() {
        return "memory:";
    }

    @Override
    public String target() {
        return "jvm:";
    }

    @Override
    public String describe() {
        return "the JVM's own memory; the floor is java.util.concurrent";
    }

    @Override
    public long requests() {
        return -1;
    }

    @Override
    public void close() {}
}
