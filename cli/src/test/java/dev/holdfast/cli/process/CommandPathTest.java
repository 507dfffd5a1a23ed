package dev.holdfast.cli.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.cli.output.Failure;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CommandPathTest {

    @TempDir
    Path folder;

    private Path make(String name, String permissions) throws IOException {
        Path file = folder.resolve(name);
        Files.createDirectories(file.getParent());
        Files.writeString(file, "");
        return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString(permissions));
    }

    private CommandPath path() {
        return new CommandPath(folder.resolve("one") + ":" + folder.resolve("two"));
    }

    @Test
    void theFirstThatCanBeExecutedIsTaken() throws IOException {
        make("one/tool", "rw-r--r--");
        Path second = make("two/tool", "rwxr-xr-x");
        assertThat(path().require("tool")).isEqualTo(second.toFile());
    }

    @Test
    void notFoundIs127AndNotExecutableIs126() throws IOException {
        make("two/plain", "rw-r--r--");
        assertThatThrownBy(() -> path().require("tool"))
                .isInstanceOfSatisfying(
                        Failure.class, failure -> assertThat(failure.exitCode()).isEqualTo(127));
        assertThatThrownBy(() -> path().require("plain"))
                .isInstanceOfSatisfying(
                        Failure.class, failure -> assertThat(failure.exitCode()).isEqualTo(126));
        assertThatThrownBy(() -> path().require("")).hasMessageContaining("empty");
    }

    @Test
    void aNameWithASlashIsNotSearchedFor() throws IOException {
        Path tool = make("one/tool", "rwxr-xr-x");
        assertThat(path().require(tool.toString())).isEqualTo(tool.toFile());
        assertThatThrownBy(() -> path().require("./tool")).hasMessageContaining("does not exist");
    }
}
