package dev.holdfast.redis;

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
 * A script that runs inside the server, one for each verb. The text is a resource of this package; a line {@code -- include
 * FILE} in it stands for that file.
 */
public final class Script {

    private static final Pattern INCLUDE = Pattern.compile("(?m)^ *-- include (\\S+)$");

    static final Script ACQUIRE = new Script("acquire");
    static final Script ENQUEUE = new Script("enqueue");
    static final Script RENEW = new Script("renew");
    static final Script RELEASE = new Script("release");
    static final Script SEVERAL = new Script("several");
    static final Script INSPECT = new Script("inspect");
    static final Script LIST = new Script("list");
    static final Script PLAIN_ACQUIRE = new Script("plain-acquire");
    static final Script PLAIN_RENEW = new Script("plain-renew");
    static final Script PLAIN_RELEASE = new Script("plain-release");
    static final Script PLAIN_INSPECT = new Script("plain-inspect");
    static final Script PLAIN_LIST = new Script("plain-list");

    private final byte[] text;
    private final byte[] digest;

    private Script(String verb) {
        text = withIncludes(read(verb + ".lua")).getBytes(StandardCharsets.UTF_8);
        digest = HexFormat.of().formatHex(sha1(text)).getBytes(StandardCharsets.US_ASCII);
    }

    /** The text, for {@code EVAL}. Not to be changed. */
    public byte[] text() {
        return text;
    }

    /** The SHA-1 of the text in hexadecimal digits, for {@code EVALSHA}. Not to be changed. */
    public byte[] digest() {
        return digest;
    }

    private static String withIncludes(String script) {
        return INCLUDE.matcher(script)
                .replaceAll(line -> Matcher.quoteReplacement(read(line.group(1)).stripTrailing()));
    }

    private static String read(String file) {
        try (InputStream resource = Script.class.getResourceAsStream(file)) {
            if (resource == null) {
                throw new IllegalStateException(file + " is missing beside " + Script.class);
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
