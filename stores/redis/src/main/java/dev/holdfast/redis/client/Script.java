package dev.holdfast.redis.client;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A script that runs inside the server; there is one for each operation. The text is a resource; a line
 * {@code -- include FILE} in it is replaced by that file. {@code FORM} in the name of a file stands for the form of the
 * lock that the script is about.
 */
public final class Script {

    private static final Pattern INCLUDE = Pattern.compile("(?m)^ *-- include (\\S+)$");

    private static final String FOLDER = "/dev/holdfast/redis/script/";

    public static final Script ACQUIRE = new Script("acquire");
    public static final Script ACQUIRE_AS_NODE = new Script("acquire-as-node");
    public static final Script ENQUEUE = new Script("enqueue");
    public static final Script RENEW = new Script("renew");
    public static final Script RELEASE = new Script("release");
    public static final Script ACQUIRE_ALL = new Script("acquire-all");
    public static final Script INSPECT = new Script("inspect");
    public static final Script LIST = new Script("list");
    public static final Script FENCE = new Script("fence");

    private final byte[] text;
    private final byte[] digest;

    private Script(String verb) {
        this(verb, "");
    }

    /**
     * A script for one form of a lock.
     *
     * @param verb what the script does
     * @param form stands for FORM in the names of the files that are included
     */
    public Script(String verb, String form) {
        text = withIncludes(read(verb + ".lua"), form).getBytes(StandardCharsets.UTF_8);
        digest = HexFormat.of().formatHex(sha1(text)).getBytes(StandardCharsets.US_ASCII);
    }

    /** The text, for {@code EVAL}. Callers must not change the array. */
    public byte[] text() {
        return text;
    }

    /** The SHA-1 of the text in hexadecimal digits, for {@code EVALSHA}. Callers must not change the array. */
    public byte[] digest() {
        return digest;
    }

    private static String withIncludes(String script, String form) {
        return INCLUDE.matcher(script).replaceAll(line -> {
            String included = read(line.group(1).replace("FORM", form)).stripTrailing();
            return Matcher.quoteReplacement(withIncludes(included, form));
        });
    }

    private static String read(String file) {
        try (InputStream resource = Script.class.getResourceAsStream(FOLDER + file)) {
            if (resource == null) {
                throw new IllegalStateException(FOLDER + file + " is missing in the jar of " + Script.class);
            }
            return new String(resource.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException unreadable) {
            throw new UncheckedIOException(unreadable);
        }
    }

    private static byte[] sha1(byte[] text) {
        try {
            return MessageDigest.getInstance("SHA-1").digest(text);
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException("Every JDK has SHA-1", impossible);
        }
    }
}
