package dev.holdfast.jdbc.sqlite;

import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.spi.StoreException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class NetworkFileSystemTest {

    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(strings = {"nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "SMBFS"})
    void fileThatHostsShareIsRefused(String type) {
        assertThatThrownBy(() -> NetworkFileSystem.refuse(folder, type))
                .isInstanceOfSatisfying(StoreException.class, refused -> {
                    if (refused.retryable()) {
                        throw new AssertionError("It fails again in the same way", refused);
                    }
                })
                .hasMessageContainingAll(folder.toString(), type, "local disk");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"ext4", "xfs", "btrfs", "tmpfs", "overlay", "zfs", "apfs", "NTFS", "fuse.mergerfs", "fuseblk"})
    void fileOfOneHostIsNot(String type) {
        assertThatNoException().isThrownBy(() -> NetworkFileSystem.refuse(folder, type));
    }

    @Test
    void folderOfThisTestIsNot() {
        assertThatNoException().isThrownBy(() -> NetworkFileSystem.refuse(folder));
    }
}
