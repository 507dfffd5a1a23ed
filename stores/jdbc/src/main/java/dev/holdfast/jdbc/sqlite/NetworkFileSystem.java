package dev.holdfast.jdbc.sqlite;

import dev.holdfast.spi.StoreException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Set;

/**
 * File systems that several hosts share, as far as their names show it. Their file locks cannot be relied on, hosts do not see each
 * other's memory, which a write-ahead log needs, and the clocks of the hosts differ.
 */
final class NetworkFileSystem {

    private static final Set<String> TYPES = Set.of(
            "nfs",
            "nfs3",
            "nfs4",
            "cifs",
            "smb",
            "smb2",
            "smb3",
            "smbfs",
            "afpfs",
            "webdav",
            "davfs",
            "afs",
            "ceph",
            "lustre",
            "gpfs",
            "beegfs",
            "orangefs",
            "pvfs2",
            "gfs2",
            "ocfs2",
            "ncpfs",
            "coda",
            "9p",
            "vboxsf",
            "vmhgfs",
            "prl_fs");

    /** What comes after {@code fuse.} on Linux. */
    private static final Set<String> OF_FUSE = Set.of(
            "sshfs",
            "glusterfs",
            "ceph-fuse",
            "ceph",
            "s3fs",
            "gcsfuse",
            "rclone",
            "davfs",
            "davfs2",
            "smbnetfs",
            "vmhgfs-fuse",
            "moosefs",
            "mfs",
            "juicefs",
            "cephfs",
            "beegfs",
            "curlftpfs");

    /** How a path to another host begins on Windows, where a drive does not show what it is. */
    private static final String OTHER_HOST = "\\\\";

    private NetworkFileSystem() {}

    /**
     * Refuses a file that several hosts may share.
     *
     * @throws StoreException if it is on such a file system
     */
    static void refuse(Path file) throws IOException {
        refuse(file, Files.getFileStore(file).type());
    }

    /** @param type of its file system, as the system calls it */
    static void refuse(Path file, String type) {
        if (is(type) || String.valueOf(file.getRoot()).startsWith(OTHER_HOST)) {
            throw StoreException.refused(
                    file + " is on a network file system (" + type
                            + "), where locks of several hosts do not exclude each other."
                            + " Give the path of a file on a local disk; for several hosts use a store with a server",
                    null);
        }
    }

    private static boolean is(String type) {
        String name = type.toLowerCase(Locale.ROOT);
        return TYPES.contains(name) || (name.startsWith("fuse.") && OF_FUSE.contains(name.substring("fuse.".length())));
    }
}
