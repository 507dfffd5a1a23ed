package dev.holdfast.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Holdfast;
import dev.holdfast.election.Candidate;
import dev.holdfast.election.Election;
import dev.holdfast.election.ElectionOptions;
import dev.holdfast.testkit.process.Signals;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Real {@code etcdctl elect} processes and our elections of the same name take part in one election. */
class ElectionInteropTest extends WithPlainServer {

    private final List<Process> processes = new ArrayList<>();

    @AfterEach
    void endTheProcesses() {
        processes.forEach(Process::destroyForcibly);
    }

    @Test
    void processesOfEtcdctlAndOurCandidatesTakeTurnsAndSeeEachOther() {
        Holdfast locks = closing(Holdfast.over(open("?prefix=")));
        try (Election ours =
                locks.election(name.value(), ElectionOptions.defaults().withId("ours"))) {
            Process first = etcdctl("elect", name.value(), "first");
            awaitLine(printed(first), "first");
            ours.start();
            awaitUntil(() -> ours.candidates().size() == 2);
            assertThat(ours.isLeader()).isFalse();
            assertThat(ours.candidates()).extracting(Candidate::id).containsExactly("first", "ours");
            long token = ours.leader().orElseThrow().token();
            Queue<String> heard = printed(etcdctl("elect", "--listen", name.value()));
            awaitLine(heard, "first");
            Process second = etcdctl("elect", name.value(), "second");
            Queue<String> linesOfSecond = printed(second);
            awaitUntil(() -> ours.candidates().size() == 3);

            // It resigns when it is interrupted.
            Signals.send("INT", first.pid());
            awaitUntil(ours::isLeader);
            assertThat(ours.term().orElseThrow().token()).isGreaterThan(token);
            awaitLine(heard, "ours");
            assertThat(linesOfSecond).isEmpty();

            ours.resign();
            awaitLine(linesOfSecond, "second");
            awaitLine(heard, "second");
            assertThat(ours.isLeader()).isFalse();
            assertThat(ours.leader().orElseThrow().id()).isEqualTo("second");
            Signals.send("INT", second.pid());
            awaitUntil(ours::isLeader);
        }
    }

    private static void awaitLine(Queue<String> lines, String line) {
        awaitUntil(() -> lines.contains(line));
    }

    private Process etcdctl(String... arguments) {
        List<String> command = new ArrayList<>(server.control());
        command.addAll(List.of(arguments));
        Process process = EtcdServer.run(command);
        processes.add(process);
        return process;
    }

    private static Queue<String> printed(Process process) {
        Queue<String> lines = new ConcurrentLinkedQueue<>();
        Thread reader = new Thread(() -> {
            try (BufferedReader out =
                    new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
                out.lines().forEach(lines::add);
            } catch (IOException | UncheckedIOException ended) {
                // With the process.
            }
        });
        reader.setDaemon(true);
        reader.start();
        return lines;
    }
}
