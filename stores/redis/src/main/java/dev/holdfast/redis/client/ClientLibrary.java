package dev.holdfast.redis.client;

import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;
import org.jspecify.annotations.Nullable;

/**
 * A client library of Redis that comes with the application: a platform such as Spring Boot may replace the version that
 * Holdfast asks for. The version decides which calls exist. An older one would fail with a linkage error at the first
 * lock, or only at the first fail-over, so it is refused when a store is opened.
 *
 * @param group the group of the library's artifact
 * @param artifact the name of its artifact
 * @param oldest the oldest version that works
 * @param witness a class that exists from this version on. It decides, because a jar that was made of several does not
 *     always say which versions are in it.
 * @param remedy what to do about an older version, besides a newer one
 */
public record ClientLibrary(String group, String artifact, String oldest, String witness, String remedy) {

    /**
     * Refuses an older version.
     *
     * @throws IllegalStateException if the library is older, or missing; the message names the version
     */
    public void require() {
        if (!has(witness)) {
            String found = version();
            throw new IllegalStateException(
                    "This store needs " + group + ":" + artifact + " " + oldest + " or newer, but "
                            + (found == null ? "no version of it can be recognised" : "version " + found + " is")
                            + " on the class path: " + remedy);
        }
    }

    /** Whether the application has a class of its client library. */
    public static boolean has(String type) {
        try {
            return Class.forName(type, false, ClientLibrary.class.getClassLoader()) != null;
        } catch (ClassNotFoundException older) {
            return false;
        }
    }

    private @Nullable String version() {
        String place = "META-INF/maven/" + group + "/" + artifact + "/pom.properties";
        try (InputStream file = ClientLibrary.class.getClassLoader().getResourceAsStream(place)) {
            Properties properties = new Properties();
            if (file != null) {
                properties.load(file);
            }
            return properties.getProperty("version");
        } catch (IOException unreadable) {
            return null;
        }
    }
}
