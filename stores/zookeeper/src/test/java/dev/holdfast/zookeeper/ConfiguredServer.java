package dev.holdfast.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.testkit.StoreTest;
import dev.holdfast.testkit.process.ChildJvm;
import dev.holdfast.testkit.process.ControlledServer;
import dev.holdfast.testkit.process.Ports;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** One server with settings of its own, in a JVM of its own. */
final class ConfiguredServer implements ControlledServer, AutoCloseable {

    private final int port = Ports.reserve();
    private final List<String> prefix;
    private final List<String> jvmOptions;
    private final Path config;
    private ChildJvm jvm;

    /** Starts a server with its data in a temporary directory. */
    static ConfiguredServer of(Map<String, Object> settings) throws IOException {
        return behind(List.of(), settings);
    }

    /** The same with a command in front that replaces itself by the server, such as {@code env NAME=VALUE}. */
    static ConfiguredServer behind(List<String> prefix, Map<String, Object> settings) throws IOException {
        List<String> lines = settings.entrySet().stream()
                .map(setting -> setting.getKey() + "=" + setting.getValue())
                .toList();
        return new ConfiguredServer(
                prefix, Files.createTempDirectory("zookeeper-"), List.of("-Dzookeeper.forceSync=no"), lines);
    }

    /** Starts a server, and waits until it serves clients. */
    ConfiguredServer(Path directory, List<String> jvmOptions, List<String> settings) throws IOException {
        this(List.of(), directory, jvmOptions, settings);
    }

    private ConfiguredServer(List<String> prefix, Path directory, List<String> jvmOptions, List<String> settings)
            throws IOException {
        this.prefix = List.copyOf(prefix);
        List<String> lines = new ArrayList<>(settings);
        lines.addAll(List.of(
                "tickTime=500",
                "admin.enableServer=false",
                "4lw.commands.whitelist=srvr,wchs",
                "dataDir=" + directory.resolve("data"),
                "clientPort=" + port,
                "clientPortAddress=127.0.0.1"));
        config = Files.writeString(directory.resolve("server.cfg"), String.join("\n", lines));
        this.jvmOptions = new ArrayList<>(jvmOptions);
        this.jvmOptions.addAll(List.of("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
        jvm = started();
        awaitServing();
    }

    private ChildJvm started() {
        return ServerProgram.startBehind(
                prefix, jvmOptions, "org.apache.zookeeper.server.ZooKeeperServerMain", config.toString());
    }

    /** Starts it after {@link #kill} on the same port and data, and waits until it serves clients. */
    @Override
    public void startAgain() {
        jvm = started();
        awaitServing();
    }

    private void awaitServing() {
        try {
            StoreTest.awaitUntil(() -> !jvm.isAlive() || ServerStatus.mode(port).equals("standalone"));
            assertThat(jvm.isAlive()).isTrue();
        } catch (AssertionError failure) {
            String output = jvm.lastOutput();
            jvm.close();
            throw new AssertionError(jvm + " does not serve clients. " + output, failure);
        }
    }

    @Override
    public int port() {
        return port;
    }

    @Override
    public void freeze() {
        jvm.pause();
    }

    @Override
    public void thaw() {
        jvm.resume();
    }

    @Override
    public boolean isRunning() {
        return jvm.isAlive();
    }

    @Override
    public void kill() {
        jvm.close();
    }

    @Override
    public void close() {
        jvm.close();
    }
}
