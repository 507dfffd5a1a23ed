package dev.holdfast.internal;

import dev.holdfast.spi.OwnerInfo;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.List;

/** Who this client is: a random id for the store, and what people may want to know. */
record ClientIdentity(String client, String host, long pid, String label) {

    private static final int ID_BYTES = 12;

    static ClientIdentity create(String label) {
        byte[] id = new byte[ID_BYTES];
        new SecureRandom().nextBytes(id);
        String client = Base64.getUrlEncoder().withoutPadding().encodeToString(id);
        return new ClientIdentity(client, hostName(), ProcessHandle.current().pid(), label);
    }

    ClientIdentity withLabel(String other) {
        return new ClientIdentity(client, host, pid, other);
    }

    OwnerInfo owner(String thread, List<String> held) {
        return new OwnerInfo(client, host, pid, thread, label, held);
    }

    // What is at hand first: a look-up of the own name can take seconds where the name service is not set up.
    private static String hostName() {
        String fromShell = System.getenv("HOSTNAME");
        if (fromShell != null && !fromShell.isEmpty()) {
            return fromShell;
        }
        try {
            return Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
        } catch (IOException notLinux) {
            return lookedUp();
        }
    }

    private static String lookedUp() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException unknown) {
            return "";
        }
    }
}
