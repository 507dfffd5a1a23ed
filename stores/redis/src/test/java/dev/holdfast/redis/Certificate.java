package dev.holdfast.redis;

import dev.holdfast.testkit.process.Certificates;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.List;
import javax.net.ssl.TrustManagerFactory;

/** A self-signed certificate for 127.0.0.1, with its key and a trust store that contains it, in a folder. */
public final class Certificate {

    private static final String STORE = "javax.net.ssl.trustStore";
    private static final String PASSWORD = "javax.net.ssl.trustStorePassword";

    private final Path folder;

    private Certificate(Path folder) {
        this.folder = folder;
    }

    public static Certificate in(Path folder) {
        Certificates.selfSigned(folder, "cert.pem", "key.pem", "IP:127.0.0.1");
        Certificates.keytool(
                folder,
                "-importcert",
                "-noprompt",
                "-alias",
                "test",
                "-file",
                "cert.pem",
                "-keystore",
                "trust.p12",
                "-storepass",
                "changeit");
        return new Certificate(folder);
    }

    /**
     * The settings of a server that uses the certificate, and trusts it when it connects to other servers over TLS.
     */
    public List<String> settings() {
        return List.of(
                "--tls-cert-file",
                folder.resolve("cert.pem").toString(),
                "--tls-key-file",
                folder.resolve("key.pem").toString(),
                "--tls-ca-cert-file",
                folder.resolve("cert.pem").toString(),
                "--tls-auth-clients",
                "no");
    }

    /** From now on this JVM trusts this certificate, and nothing else. */
    public void trust() {
        System.setProperty(STORE, folder.resolve("trust.p12").toString());
        System.setProperty(PASSWORD, "changeit");
        load();
    }

    /** From now on this JVM trusts its default certificates again. */
    public static void distrust() {
        System.clearProperty(STORE);
        System.clearProperty(PASSWORD);
        load();
    }

    // While one thread loads a new trust store, the JDK gives others the certificates of the one before
    // (sun.security.ssl.TrustStoreManager, seen on 17 and 25). So it is loaded here, before anybody connects.
    private static void load() {
        try {
            TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm())
                    .init((KeyStore) null);
        } catch (GeneralSecurityException unusable) {
            throw new IllegalStateException("The trust store cannot be loaded", unusable);
        }
    }
}
