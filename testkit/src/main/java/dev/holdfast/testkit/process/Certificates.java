package dev.holdfast.testkit.process;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Certificates for tests of TLS, made by {@code openssl} and by the JDK's {@code keytool}. They are good for two days. */
public final class Certificates {

    private Certificates() {}

    /**
     * Writes a certificate that is signed by its own key into a folder.
     *
     * @param certificate the file of the certificate, in PEM; an existing one is replaced
     * @param key the file of its key, in PEM and without a password
     * @param alternativeName whose it is, such as {@code IP:127.0.0.1}
     */
    public static void selfSigned(Path folder, String certificate, String key, String alternativeName) {
        ServerProcess.run(
                folder,
                List.of(
                        "openssl",
                        "req",
                        "-x509",
                        "-newkey",
                        "rsa:2048",
                        "-nodes",
                        "-days",
                        "2",
                        "-keyout",
                        key,
                        "-out",
                        certificate,
                        "-subj",
                        "/CN=" + certificate,
                        "-addext",
                        "subjectAltName=" + alternativeName));
    }

    /** Runs {@code keytool} in a folder. */
    public static void keytool(Path folder, String... arguments) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "keytool").toString());
        command.addAll(List.of(arguments));
        ServerProcess.run(folder, command);
    }
}
